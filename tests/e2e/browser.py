"""Chromium without a window, driven by its DevTools protocol over a pipe: no port, no library.

with Browser(folder) as b:
    b.open("page.html"); b.run("1 + 1"); b.click("#id"); b.key("w"); b.picture("page.png")
"""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The program, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Program:
    """Chromium itself: one is enough for all pages of a test. Events go to `note`, of the page that is open."""

    def __init__(self, limit):
        self.limit, self.number, self.buffer, self.answers, self.note = limit, 0, b"", {}, lambda event: None
        self.folder = tempfile.mkdtemp()
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()

        def place_pipes():  # the browser reads 3 and writes 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        # its socket lies under TMPDIR; a path of more than 107 bytes aborts Chromium
        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
             "--user-data-dir=" + os.path.join(self.folder, "profile"), "about:blank"],
            preexec_fn=place_pipes, close_fds=False, cwd=self.folder,
            env={**os.environ, "HOME": self.folder, "TMPDIR": "."},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        atexit.register(self.end)

    def end(self):
        try:
            self.ask("Browser.close")
        except (EOFError, BrokenPipeError):
            pass
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, parameters=None, session=None):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters or {}}
        if session:
            command["sessionId"] = session
        os.write(self.out, json.dumps(command).encode() + b"\0")
        return self.answer(self.number)

    def answer(self, number):
        end = time.monotonic() + self.limit
        while number not in self.answers:
            if time.monotonic() > end:
                raise TimeoutError("the browser does not answer")
            while b"\0" not in self.buffer:
                part = os.read(self.into, 1 << 20)
                if not part:
                    raise EOFError("the browser ended")
                self.buffer += part
            line, self.buffer = self.buffer.split(b"\0", 1)
            event = json.loads(line)
            if "id" in event:
                self.answers[event["id"]] = event
            else:
                self.note(event)
        reply = self.answers.pop(number)
        if "error" in reply:
            raise RuntimeError(reply["error"]["message"])
        return reply["result"]


class Browser:
    """A page. All that it says or asks for is in `messages` and `requests`."""

    program = None

    def __init__(self, folder, width=1230, height=900, dark=False, phone=False, limit=300):
        self.folder, self.limit = folder, limit
        self.metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self.dark = dark
        self.messages, self.requests = [], []

    def __enter__(self):
        Browser.program = Browser.program or Program(self.limit)
        self.target = self.program.ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.program.ask("Target.attachToTarget", {"targetId": self.target, "flatten": True})["sessionId"]
        self.program.note = self.note
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.tell(domain + ".enable")
        self.tell("Emulation.setDeviceMetricsOverride", self.metrics)
        self.tell("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}]})
        return self

    def __exit__(self, *_):
        self.program.note = lambda event: None
        self.program.ask("Target.closeTarget", {"targetId": self.target})

    def tell(self, method, parameters=None):
        return self.program.ask(method, parameters, self.session)

    def note(self, event):
        if event["method"] == "Runtime.exceptionThrown":
            detail = event["params"]["exceptionDetails"]
            self.messages.append(detail.get("exception", {}).get("description") or detail["text"])
        elif event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
            self.messages.append(str(event["params"]["args"]))
        elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.messages.append(event["params"]["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])

    # --- what tests and pictures need

    def run(self, script):
        """The value of an expression in the page; a promise is waited for."""
        result = self.tell("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return result["result"].get("value")

    def open(self, name):
        """Seconds until the page is ready."""
        begin = time.monotonic()
        self.tell("Page.navigate", {"url": "file://" + os.path.abspath(os.path.join(self.folder, name))})
        while not self.run("document.readyState === 'complete' && document.body && document.body.dataset.ready || ''"):
            if self.messages or time.monotonic() > begin + self.limit:
                raise RuntimeError(f"{name} does not open: {self.messages}")
            time.sleep(0.02)
        return time.monotonic() - begin

    def box(self, selector):
        """Middle of an element, and its size; it is scrolled to."""
        return self.run(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}}); const r = e.getBoundingClientRect();
            return [r.left + r.width / 2, r.top + r.height / 2, r.width, r.height]; }})()""")

    def mouse(self, kind, x, y, **more):
        self.tell("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def click(self, selector=None, x=None, y=None):
        if selector:
            x, y = self.box(selector)[:2]
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.tell("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode":
                      {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(key, 0), **text})

    def picture(self, path, height=None):
        """All of the page, or so much of its beginning."""
        import base64
        size = self.tell("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], height or 20000), "scale": 1}
        data = self.tell("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))


def main():
    """browser.py PAGE.html PICTURE.png [light|dark|phone] [HEIGHT]: a picture of a page."""
    page, picture, how, height = (sys.argv[1:] + ["light", "1720"])[:4] if len(sys.argv) < 5 else sys.argv[1:5]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(page, os.path.join(folder, "page.html"))
        with Browser(folder, width=390 if how == "phone" else 1230, dark=how == "dark", phone=how == "phone") as b:
            print(f"open in {b.open('page.html'):.2f} s")
            b.picture(picture, int(height))
            print(*b.messages, *b.requests[1:], sep="\n")


if __name__ == "__main__":
    main()
