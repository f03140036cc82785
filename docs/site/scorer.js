// How search orders what it finds. Chapters and exercises come before tables and measurements, which name everything.
var Scorer = {
  score: ([name, , , , score]) => (/^(docs|benchmarks)\//.test(name) ? score - 4 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
