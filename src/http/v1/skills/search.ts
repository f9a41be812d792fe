/** `GET /v1/skills?query=&top_k=`: stored skills, ranked by the words that they share with a text. */
import { significantWords } from "../../../engine/skill-choice/words.ts";
import { indexTokens, pairsIn, wordScores, wordsOf } from "../../../engine/tool-vault/bm25.ts";
import { BadRequest } from "../../../errors/request.ts";
import { type StoredSkill, skillsWithWords } from "../../../registry/stored-skills/rows.ts";
import type { RequestContext } from "../../context.ts";
import { wholeIn } from "../../parameters.ts";

/** Most characters of a query. */
const MAX_QUERY = 4000;

/**
 * The skills that fit a query best, the best one first. Names count twice, labels and descriptions once.
 * @throws BadRequest
 */
export async function searchedSkills(context: RequestContext, query: string): Promise<StoredSkill[]> {
  const top = wholeIn(context.query, "top_k", { min: 1, max: 100, otherwise: 5 });
  if (query.length > MAX_QUERY) {
    throw new BadRequest({ detail: `query may have at most ${MAX_QUERY} characters.`, param: "query" });
  }
  const significant = textWords(query);
  // A query that has only words such as "task" and "write" means them.
  const [wanted, read] = significant.length > 0 ? [significant, textWords] : [wordsOf(query), wordsOf];
  const found = await skillsWithWords(context, [...new Set([...wordsOf(query), ...wanted])]);
  const documents = found.map(({ name, label, description }) =>
    read(`${name} ${name} ${label ?? ""} ${description}`),
  );
  const scores = wordScores(indexTokens(documents), wanted);
  return found
    .map((skill, n) => ({ skill, score: scores[n] ?? 0 }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, top)
    .map(({ skill }) => skill);
}

const textWords = (text: string): string[] => [...significantWords(text), ...pairsIn(text)];
