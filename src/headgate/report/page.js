"use strict";
// The page reads well without this: it tells what lies under the pointer, shows one site
// in all charts at once, and sorts the table of sites.

const tip = document.getElementById("tip");
const byNumber = new Map();
for (const part of document.querySelectorAll("[data-site]")) {
  const parts = byNumber.get(part.dataset.site) ?? [];
  parts.push(part);
  byNumber.set(part.dataset.site, parts);
}
let lit = [];

function light(parts, chosen) {
  for (const part of lit) part.classList.remove("on");
  lit = parts;
  for (const part of lit) part.classList.add("on");
  document.body.classList.toggle("chosen", chosen);
}

function tell(words, x, y) {
  tip.hidden = !words;
  if (!words) return;
  tip.textContent = words;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
  const top = y + 14 + box.height > innerHeight ? y - 14 - box.height : y + 14;
  tip.style.left = `${Math.max(left, 0)}px`;
  tip.style.top = `${Math.max(top, 0)}px`;
}

document.addEventListener("pointermove", (event) => {
  const under = document.elementsFromPoint(event.clientX, event.clientY);
  const nearest = (attribute) =>
    under.map((part) => part.closest(`[${attribute}]`)).find((part) => part);
  const told = nearest("data-tip");
  const site = nearest("data-site");
  const parts = site ? [...byNumber.get(site.dataset.site)] : [];
  if (told && !told.dataset.site) parts.push(told);
  light(parts, Boolean(site));
  tell(told?.dataset.tip, event.clientX, event.clientY);
});
document.addEventListener("pointerleave", () => {
  light([], false);
  tell("");
});

function compared(one, other) {
  const numbers = [Number(one), Number(other)];
  if (one === "" || other === "" || numbers.some(Number.isNaN)) return one.localeCompare(other);
  return numbers[0] === numbers[1] ? 0 : numbers[0] - numbers[1];
}

for (const heading of document.querySelectorAll(".sites thead th")) {
  heading.addEventListener("click", () => {
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const other of heading.parentElement.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = heading.closest("table").tBodies[0];
    const value = (row) => row.cells[heading.cellIndex].dataset.value;
    const rows = [...body.rows].sort((one, other) => compared(value(one), value(other)));
    body.append(...(down ? rows.reverse() : rows));
  });
}
