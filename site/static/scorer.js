// Statements of papers, of which there are hundreds, stand behind all other pages.
var Scorer = {
  score: ([name, , , , score]) => score - (/^ledger\/(?!index$)/.test(name) ? 1000 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
