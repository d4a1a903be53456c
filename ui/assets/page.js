/* What the page does without asking the server: open a source, copy, change the theme. */
(() => {
  "use strict";
  const FOLLOW = /^#(source|sources|near|edit|retry|copy|up|down)-(\d+)(?:-(\d+))?$/;
  const nothing = () => {};
  const page = (window.citewell = {
    send: nothing, papers: nothing, kept: nothing, cases: nothing, theme: toggleTheme, download: download,
  });
  let wanted = null; // the source to show once its panel has come
  let hover = 0;
  let shown = null; // the panel's content when last looked at

  const panel = () => document.getElementById("cw-sources");
  const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const narrow = () => window.matchMedia("(max-width: 900px)").matches;

  function nameOf(link) {
    return FOLLOW.exec(link.getAttribute("href") || "");
  }

  function targetIn(box, [, verb, turn, item]) {
    if (verb === "source") {
      return box.querySelector(`.cw-m-${turn}-${item}`) || box.querySelector(`.cw-s-${turn}-${item}`);
    }
    if (verb === "near") return box.querySelector(`.cw-near-${turn}-${item}`);
    return box.querySelector(`[class*="-${turn}-"]`) && box.querySelector(".cw-panel");
  }

  function reveal(target, focus) {
    const box = panel();
    box.querySelectorAll(".cw-on").forEach((one) => one.classList.remove("cw-on"));
    const details = target.closest("details");
    if (details) details.open = true;
    target.classList.add("cw-on");
    const card = target.closest(".cw-source");
    if (card) card.classList.add("cw-on");
    const behavior = calm() ? "auto" : "smooth";
    if (focus && narrow()) box.scrollIntoView({ behavior: behavior, block: "start" });
    const top = target.getBoundingClientRect().top - box.getBoundingClientRect().top;
    box.scrollTo({ top: box.scrollTop + top - box.clientHeight / 3, behavior: behavior });
    if (focus) target.focus({ preventScroll: true });
  }

  function markActive(name) {
    document.querySelectorAll("a.cw-cite.cw-on").forEach((one) => one.classList.remove("cw-on"));
    document.querySelectorAll(`a.cw-cite[href="${name[0]}"]`).forEach((one) => one.classList.add("cw-on"));
  }

  function open(name, focus) {
    if (name[1] === "source") markActive(name);
    const target = targetIn(panel(), name);
    if (target) return reveal(target, focus);
    // A click points as well: the hover that follows it must not take the focus back.
    const clicked = wanted && wanted.focus && wanted.name[0] === name[0];
    wanted = { name: name, focus: focus || clicked };
    page.send(name[0].slice(1));
  }

  async function copy(link) {
    const plain = link.closest(".cw-answer")?.querySelector(".cw-plain");
    if (!plain) return;
    const twin = plain.cloneNode(true);
    twin.querySelectorAll("br").forEach((line) => line.replaceWith("\n"));
    await toClipboard(twin.textContent);
    const before = link.textContent;
    link.textContent = "Copied";
    setTimeout(() => (link.textContent = before), 1500);
  }

  async function toClipboard(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const box = document.createElement("textarea"); // pages without https may not use the clipboard
      box.value = text;
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
  }

  function download(file) {
    if (!file || !file.name) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([file.text], { type: "text/plain;charset=utf-8" }));
    link.download = file.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function toggleTheme() {
    const dark = !document.body.classList.contains("dark");
    try {
      localStorage.setItem("citewell-theme", dark ? "dark" : "light");
    } catch {
      /* private windows keep nothing */
    }
    document.body.classList.toggle("dark", dark);
  }

  function restoreTheme() {
    let kept = null;
    try {
      kept = localStorage.getItem("citewell-theme");
    } catch {
      return;
    }
    const dark = document.body.classList.contains("dark");
    if (kept && dark !== (kept === "dark")) document.body.classList.toggle("dark");
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-papers], [data-kept], [data-cases]");
    if (button) {
      const { papers, kept, cases } = button.dataset;
      if (papers) return page.papers(papers);
      return kept ? page.kept(kept) : page.cases(cases);
    }
    const link = event.target.closest?.('a[href^="#"]');
    if (!link) return;
    if (link.getAttribute("href") === "#chat") {
      event.preventDefault();
      document.getElementById("chat").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
      return;
    }
    const name = nameOf(link);
    if (!name) return;
    event.preventDefault();
    if (name[1] === "copy") return void copy(link);
    if (name[1] === "up" || name[1] === "down") return page.send(name[0].slice(1));
    if (name[1] === "edit" || name[1] === "retry") {
      page.send(name[0].slice(1));
      document.querySelector("#cw-question textarea")?.focus();
      return;
    }
    open(name, true);
  });

  document.addEventListener("mouseover", (event) => {
    const link = event.target.closest?.("#chat a.cw-cite[href]");
    clearTimeout(hover);
    if (!link || narrow()) return;
    hover = setTimeout(() => open(nameOf(link), false), 120);
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest?.("#cw-sources")) {
      document.querySelector("#chat a.cw-cite.cw-on")?.focus();
    }
  });

  function speak() {
    const box = document.getElementById("cw-spoken");
    if (!box || box.getAttribute("role") === "status") return;
    box.setAttribute("role", "status");
    box.setAttribute("aria-live", "polite");
  }

  const labelled = /^(?:user|bot)'s message: /;
  function name(root) {
    // The chat's own labels repeat our HTML, and its cleaner takes ours away.
    root.querySelectorAll('#chat [aria-label*="\'s message: "]').forEach((box) => {
      if (labelled.test(box.getAttribute("aria-label"))) {
        box.setAttribute("aria-label", box.dataset.testid === "user" ? "Question" : "Answer");
      }
    });
    root.querySelectorAll("a.cw-cite[title]:not([aria-label]), a.cw-thumb[title]:not([aria-label])").forEach((link) => {
      link.setAttribute("aria-label", link.title);
    });
  }

  let queued = false;
  function onChange() {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => {
      queued = false;
      name(document);
      speak();
      const now = panel()?.querySelector(".cw-panel");
      if (now && now !== shown) {
        shown = now;
        panel().scrollTop = 0;
      }
      const target = wanted && panel() && targetIn(panel(), wanted.name);
      if (target) {
        const { focus } = wanted;
        wanted = null;
        reveal(target, focus);
      }
    });
  }

  function start() {
    restoreTheme();
    openSide(0);
    // Gradio sets the system's theme when it has started: the user's choice comes after.
    new MutationObserver(restoreTheme).observe(document.body, { attributeFilter: ["class"] });
    new MutationObserver(onChange).observe(document.body, { childList: true, subtree: true });
  }

  function openSide(tries) {
    // Wide pages have room for the side bar; narrow ones open it by its button.
    const side = document.getElementById("cw-side");
    if (window.innerWidth < 1300 || tries > 50) return;
    const button = side?.querySelector(".toggle-button") || side?.parentElement?.querySelector(".toggle-button");
    if (!button) return void setTimeout(() => openSide(tries + 1), 100);
    if (!side.classList.contains("open")) button.click();
  }

  // Gradio puts this script into the page after it has loaded.
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
