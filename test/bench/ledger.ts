/** What exact budgets cost a call: the same skill for a tenant with a hard limit and for one without. */
import { compare, post } from "./load.ts";
import { ms, type Row, row } from "./row.ts";
import { ADMIN_KEY, type Subjects } from "./subjects.ts";

export async function ledgerRows({ keyed }: Subjects, rounds: number): Promise<Row[]> {
  const free = await tenant(keyed, "free");
  const limited = await tenant(keyed, "limited");
  await send(`${keyed}/budgets/tenant`, "PUT", limited, { window: "day", max_output_tokens: 1e15 });
  const call = (headers: Record<string, string>) => () => post(`${keyed}/skills/mocked`, "hi", headers);
  const { floor, ours } = await compare(call(free), call(limited), 1, rounds);
  const what = "ledger reserve + settle: p50 over a tenant without limits";
  return [row(what, ms(floor.p50), ms(ours.p50), Math.max(0, ours.p50 - floor.p50), 2, ms)];
}

/** The headers of a new tenant's key. */
async function tenant(url: string, name: string): Promise<Record<string, string>> {
  const admin = { authorization: `Bearer ${ADMIN_KEY}` };
  const made = await send(`${url}/admin/keys`, "POST", admin, { tenant: name, scopes: ["admin"] });
  const { key }: { key: string } = JSON.parse(made);
  return { authorization: `Bearer ${key}` };
}

async function send(url: string, method: string, headers: Record<string, string>, value: object) {
  const answer = await fetch(url, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(value),
  });
  const text = await answer.text();
  if (!answer.ok) throw new RangeError(`${url} answered ${answer.status}: ${text}`);
  return text;
}
