const kinds = {
  words: new Intl.Segmenter("en", { granularity: "word" }),
  sentences: new Intl.Segmenter("en", { granularity: "sentence" }),
};

export default async function countWords({ text }) {
  const words = [...kinds.words.segment(text)].filter(({ isWordLike }) => isWordLike);
  const sentences = [...kinds.sentences.segment(text)].filter(({ segment }) => segment.trim() !== "");
  return { words: words.length, sentences: sentences.length };
}
