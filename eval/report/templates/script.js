"use strict";
// Sorting: a click on a header orders the bodies (or rows) of its table by data-sort or by text.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table");
    const column = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const byCase = table.classList.contains("cases");
    const parent = byCase ? table : table.tBodies[0];
    const items = byCase ? [...table.tBodies] : [...parent.rows];
    const key = item => {
      const cell = (byCase ? item.rows[0] : item).cells[column];
      return cell.dataset.sort ?? cell.textContent.trim();
    };
    const numeric = head.classList.contains("num");
    const compare = (a, b) => {
      const left = key(a), right = key(b);
      if (!numeric) return (down ? -1 : 1) * left.localeCompare(right);
      if (left === "" || right === "") return (left === "") - (right === "");  // no value: last
      return (down ? -1 : 1) * (Number(left) - Number(right));
    };
    parent.append(...items.sort(compare));
  });
}
// Each case opens in place.
const show = (button, open) => {
  button.setAttribute("aria-expanded", String(open));
  document.getElementById(button.getAttribute("aria-controls")).hidden = !open;
};
for (const button of document.querySelectorAll(".open")) {
  button.addEventListener("click", () => show(button, button.getAttribute("aria-expanded") !== "true"));
}
// Filters by kind, by outcome and by words of the question or id.
const filters = document.getElementById("filters");
if (filters) {
  const bodies = [...document.querySelectorAll("table.cases tbody")];
  const count = document.getElementById("count");
  const apply = () => {
    const {kind, outcome, words} = filters.elements;
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const body of bodies) {
      const fits = (!kind.value || body.dataset.kind === kind.value.slice(1))
        && (!outcome.value || body.dataset.outcome === outcome.value)
        && (!wanted || body.rows[0].textContent.toLowerCase().includes(wanted));
      body.hidden = !fits;
      shown += fits;
    }
    count.textContent = `${shown} of ${bodies.length} cases shown`;
  };
  filters.addEventListener("input", apply);
  filters.addEventListener("submit", event => event.preventDefault());
  document.getElementById("all").addEventListener("click", event => {
    const open = event.target.dataset.open !== "true";
    event.target.dataset.open = String(open);
    event.target.textContent = open ? "Close all" : "Open all";
    for (const button of document.querySelectorAll(".open")) show(button, open);
  });
  apply();
}
