"""Measure the chat page: python tests/manual/ui_bench.py [--questions 500]

Starts the page as a user does, on the sample library in a new home, and prints one JSON object:
seconds until the port answers and until questions are answered, milliseconds from Enter to the
first and the last text in a real browser, twenty sessions at once, memory over many questions.
"""

import argparse
import functools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
from playwright.sync_api import sync_playwright

QUESTIONS = [
    "How does 4D3R refine camera poses?",
    "Which papers use diffusion models?",
    "Which benchmark evaluates causal inference?",
    "What does the patent retrieval method learn?",
    "Which vaccine protects cattle from anthrax?",
]
FIRST_LAST = """
() => {
  const chat = document.querySelector('#chat');
  const before = chat.querySelectorAll('.cw-tools').length;
  const answers = chat.querySelectorAll('.cw-answer').length;
  window.times = {};
  document.querySelector('#cw-question textarea').addEventListener('keydown', (event) => {
    if (event.key === 'Enter') window.times.enter = performance.now();
  }, { once: true, capture: true });
  new MutationObserver((_, observer) => {
    const answer = chat.querySelectorAll('.cw-answer')[answers];
    const said = answer && answer.querySelector('p:not(.cw-busy):not(.cw-tools)');
    const tools = chat.querySelectorAll('.cw-tools').length;
    if (said && !answer.querySelector('.cw-busy') && !window.times.first)
      window.times.first = performance.now();
    if (tools > before) { window.times.last = performance.now(); observer.disconnect(); }
  }).observe(chat, { childList: true, subtree: true });
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        results = measure(Path(home), options.questions)
    sys.stdout.write(json.dumps(results, indent=1) + "\n")


def measure(home, questions):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    began = time.perf_counter()
    command = [sys.executable, "-m", "rag", "chat", "--no-browser", "--port", str(port)]
    page = subprocess.Popen(
        command, env={**os.environ, "CITEWELL_HOME": str(home)}, stdout=subprocess.DEVNULL
    )
    try:
        results = start_up(url, began)
        results |= texts(url)
        results |= crowd(url)
        results |= memory(url, page.pid, questions)
    finally:
        page.terminate()
        page.wait(30)
    return results


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def start_up(url, began):
    until(lambda: httpx.get(url).status_code == 200)
    port_s = time.perf_counter() - began
    until(lambda: httpx.get(f"{url}/config").status_code == 200)
    page_s = time.perf_counter() - began
    ask(url, QUESTIONS[0], "first")
    answer_s = time.perf_counter() - began
    return {"port_s": port_s, "page_s": page_s, "first_answer_s": answer_s}


def until(fact, timeout_s=120):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        try:
            if fact():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise TimeoutError


def texts(url):
    """Return the median times from Enter to the first and the last text, in a browser."""
    firsts, lasts = [], []
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(url)
        page.wait_for_selector(".cw-ready", timeout=60_000)
        for question in QUESTIONS * 4:
            page.locator("#cw-question textarea").fill(question)
            page.evaluate(FIRST_LAST)
            page.locator("#cw-question textarea").press("Enter")
            page.wait_for_function("window.times.last", timeout=30_000)
            times = page.evaluate("window.times")
            firsts.append(times.get("first", times["last"]) - times["enter"])
            lasts.append(times["last"] - times["enter"])
            page.wait_for_timeout(300)
        browser.close()
    return {
        "first_text_ms": round(statistics.median(firsts)),
        "last_text_ms": round(statistics.median(lasts)),
        "last_text_max_ms": round(max(lasts)),
    }


def crowd(url, people=20):
    """Let twenty sessions ask at the same moment; return errors and the slowest answer."""
    errors, seconds = [], []
    gate = threading.Barrier(people)

    def person(number):
        gate.wait()
        began = time.perf_counter()
        try:
            ask(url, QUESTIONS[number % len(QUESTIONS)], f"person-{number}")
            seconds.append(time.perf_counter() - began)
        except Exception as exc:
            errors.append(repr(exc))

    threads = [threading.Thread(target=person, args=(n,)) for n in range(people)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"crowd": people, "crowd_errors": len(errors), "crowd_slowest_s": max(seconds)}


def memory(url, pid, questions):
    sizes = {}
    for number in range(1, questions + 1):
        ask(url, QUESTIONS[number % len(QUESTIONS)], f"long-{number % 5}")
        if number in (50, questions):
            sizes[f"mb_after_{number}"] = round(resident_mb(pid))
    return sizes


def resident_mb(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in text.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


@functools.cache
def handler(url):
    """Return the number of the page's own handler of questions."""
    handlers = httpx.get(f"{url}/config", timeout=60).json()["dependencies"]
    return next(one["id"] for one in handlers if one["api_name"] == "page_ask")


def ask(url, question, session):
    """Ask as the page does; raise unless the handler finished well."""
    body = {"data": [question, None], "fn_index": handler(url), "session_hash": session}
    httpx.post(f"{url}/gradio_api/queue/join", json=body, timeout=60).raise_for_status()
    with httpx.stream(
        "GET", f"{url}/gradio_api/queue/data", params={"session_hash": session}, timeout=120
    ) as reply:
        for line in reply.iter_lines():
            if "process_completed" in line:
                sent = json.loads(line.removeprefix("data: "))
                if not sent["success"]:
                    raise RuntimeError(line[:300])
                return
    raise RuntimeError("the answer never came")


if __name__ == "__main__":
    main()
