"""A small client for the API server: JSON over HTTPS, and watches."""

import http.client
import json
import ssl
import threading
import time


class Refused(Exception):
    """An answer that is not a success."""

    def __init__(self, answer):
        super().__init__(f"{answer.status}: {answer.text()[:300]}")
        self.status = answer.status
        self.answer = answer


class Answer:
    def __init__(self, status, body):
        self.status, self.body = status, body

    def text(self):
        return self.body.decode(errors="replace")

    def json(self):
        return json.loads(self.body)


class Api:
    """One caller; each thread has a connection of its own."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.local = threading.local()
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE

    def connect(self, timeout):
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=timeout, context=self.tls
        )

    def headers(self, content="application/json"):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": content}

    def call(self, method, path, body=None, content="application/json"):
        data = None if body is None else json.dumps(body)
        for attempt in (1, 2):
            connection = getattr(self.local, "connection", None)
            fresh = connection is None
            if fresh:
                connection = self.local.connection = self.connect(60)
            try:
                connection.request(method, path, data, self.headers(content))
                answer = connection.getresponse()
                return Answer(answer.status, answer.read())
            except (OSError, http.client.HTTPException):
                connection.close()
                self.local.connection = None
                # A kept connection may have been closed meanwhile: only then, try a fresh one.
                if fresh or method not in ("GET",):
                    raise

    def get(self, path, raw=False):
        answer = self.call("GET", path)
        if not raw and answer.status != 200:
            raise Refused(answer)
        return answer

    def read(self, path):
        return self.get(path).json()

    def create(self, path, body):
        answer = self.call("POST", path, body)
        if answer.status not in (200, 201):
            raise Refused(answer)
        return answer.json()

    def put(self, path, body):
        return self.call("PUT", path, body)

    def delete(self, path):
        return self.call("DELETE", path)

    def apply(self, path, body, manager):
        query = f"{path}?fieldManager={manager}&force=true"
        return self.call("PATCH", query, body, "application/apply-patch+yaml")

    def watch(self, path):
        return Watch(self, path)


class Watch:
    """A watch that resumes from the last revision seen, like an informer's."""

    def __init__(self, api, path):
        self.api, self.path = api, path
        self.events, self.errors = [], []
        self.revision = None
        self.stopping = False
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self, revision):
        self.revision = revision
        self.thread.start()
        return self

    def run(self):
        while not self.stopping:
            connection = self.api.connect(20)
            try:
                joiner = "&" if "?" in self.path else "?"
                url = (
                    f"{self.path}{joiner}watch=1&allowWatchBookmarks=true"
                    f"&resourceVersion={self.revision}"
                )
                connection.request("GET", url, headers=self.api.headers())
                answer = connection.getresponse()
                if answer.status != 200:
                    text = answer.read().decode(errors="replace")
                    with self.lock:
                        self.errors.append((answer.status, text))
                    if answer.status == 410:
                        return
                    time.sleep(0.2)
                    continue
                self.follow(answer)
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)
            finally:
                connection.close()

    def follow(self, answer):
        while not self.stopping and (line := answer.readline()):
            event = json.loads(line)
            with self.lock:
                if event["type"] == "ERROR":
                    self.errors.append((event["object"].get("code"), event["object"]))
                    return
                self.revision = event["object"]["metadata"]["resourceVersion"]
                self.events.append(event)

    def taken(self):
        with self.lock:
            return [event for event in self.events if event["type"] != "BOOKMARK"]

    def stop(self):
        self.stopping = True
