"""A port of loopback at which a test answers."""

import socket
import threading


class Loopback:
    """Gives each connection to `serve`, on a thread of its own, until the test is over."""

    def __init__(self, case, serve):
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        case.addCleanup(self.close)

    def close(self):
        """Takes no more."""
        try:
            # A close alone would not end the wait for the next connection.
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
