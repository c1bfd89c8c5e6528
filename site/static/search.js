// Sphinx reads each page that it finds, to show a part of it. From the disk it cannot; the descriptions stand in then.
"use strict";
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  new MutationObserver((records) => {
    for (const item of records.flatMap((record) => [...record.addedNodes])) {
      const link = item.tagName === "LI" && item.querySelector("a[href]");
      const words = link && EXCERPTS[link.getAttribute("href").split(".html")[0].replace(/^\.?\//, "")];
      if (!words) continue;
      const shown = document.createElement("p");
      shown.className = "context";
      shown.textContent = words;
      item.append(shown);
    }
  }).observe(document.getElementById("search-results"), { childList: true, subtree: true });
}
// Statements of papers, of which there are hundreds, are found from their own page alone.
{
  const found = Search._performSearch;
  const statements = new URLSearchParams(location.search).has("statements");
  Search._performSearch = (...asked) => found(...asked).filter(([name]) => /^ledger\/.*\./.test(name) === statements);
}
