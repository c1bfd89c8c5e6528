// The filters and the order of the conformance page. Their state is the query of the address.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const cells = document.getElementById("cells");
  const list = document.getElementById("list");
  const said = document.getElementById("shown");
  const heads = [...list.querySelectorAll("th[data-sort]")];
  const body = list.tBodies[0];
  const given = [...body.rows];
  const FILTERS = ["package", "algorithm", "verdict"];
  let sort = "";

  for (const th of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = th.textContent;
    th.replaceChildren(button);
    button.addEventListener("click", () => {
      const name = th.dataset.sort;
      sort = sort === name ? `-${name}` : sort === `-${name}` ? "" : name;
      apply();
    });
  }

  function order() {
    const name = sort.replace("-", "");
    const k = heads.findIndex((th) => th.dataset.sort === name);
    heads.forEach((th, n) => th.setAttribute("aria-sort", n !== k ? "none" : sort[0] === "-" ? "descending" : "ascending"));
    const value = (row) => row.cells[k].dataset.value ?? row.cells[k].textContent.trim();
    const compare = (a, b) => value(a).localeCompare(value(b), "en", { numeric: k !== heads.length - 2 });
    const rows = k < 0 ? given : [...given].sort(compare);
    body.append(...(sort[0] === "-" ? rows.reverse() : rows));
  }

  function choose(chosen) {
    for (const row of cells.tBodies[0].rows) {
      let there = false;
      for (const cell of row.cells) {
        const of = cell.dataset.package;
        if (!of) continue;
        const here = !chosen.package || of === chosen.package;
        cell.hidden = !here;
        const right = here && (!chosen.verdict || cell.dataset.verdict.split(" ").includes(chosen.verdict));
        cell.classList.toggle("dim", !right);
        // Of a package alone what it does not offer is left out unless it is asked for.
        there ||= right && (chosen.verdict || !chosen.package || cell.dataset.verdict !== "not-offered");
      }
      row.hidden = !there || Boolean(chosen.algorithm && row.dataset.algorithm !== chosen.algorithm);
    }
    for (const cell of cells.querySelectorAll("thead [data-package], tfoot [data-package]"))
      cell.hidden = Boolean(chosen.package && cell.dataset.package !== chosen.package);
    for (const row of given) row.hidden = FILTERS.some((name) => chosen[name] && row.dataset[name] !== chosen[name]);
  }

  function apply() {
    const chosen = Object.fromEntries(FILTERS.map((name) => [name, form.elements[name].value]));
    choose(chosen);
    order();
    const shown = given.filter((row) => !row.hidden).length;
    said.textContent = `${shown} of ${given.length} claims`;
    const state = new URLSearchParams();
    for (const name of FILTERS) if (chosen[name]) state.set(name, chosen[name]);
    if (sort) state.set("sort", sort);
    const query = state.toString();
    try {
      history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
    } catch {
      // Some browsers keep the address of a file as it is; the page works without.
    }
  }

  const state = new URLSearchParams(location.search);
  for (const name of FILTERS) {
    const field = form.elements[name];
    const value = state.get(name) ?? "";
    if ([...field.options].some((option) => option.value === value)) field.value = value;
  }
  const asked = state.get("sort") ?? "";
  if (heads.some((th) => th.dataset.sort === asked.replace("-", ""))) sort = asked;
  form.hidden = false;
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    sort = "";
    setTimeout(apply);
  });
  apply();
})();
