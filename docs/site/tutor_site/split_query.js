// Cuts a query as tutor_site/search.py cuts the text: each two Chinese characters side by side are a term.
function splitQuery(query) {
  const words = /[\u3400-\u4dbf\u4e00-\u9fff]+|(?:(?![\u3400-\u4dbf\u4e00-\u9fff])[\p{Letter}\p{Number}_])+/gu;
  return Array.from(query.matchAll(words)).flatMap(([run]) => (/^[\u3400-\u9fff]{2}/.test(run) ? pairs(run) : [run]));
}

// Of a query such as 取消请求, the pair in the middle may stand nowhere. So a pair counts only if there is a page
// that has it and those before it.
function pairs(run) {
  const all = Array.from(run.slice(1), (_, at) => run.slice(at, at + 2));
  let together = null;
  const kept = all.filter((pair) => {
    const pages = pagesWith(pair).filter((page) => together === null || together.includes(page));
    if (pages.length) together = pages;
    return pages.length;
  });
  return kept.length ? kept : all;
}

function pagesWith(term) {
  const { terms, titleterms } = Search._index;
  return [terms, titleterms].flatMap((index) => (Object.hasOwn(index, term) ? index[term] : []));
}
