"""Proxy that cuts each connection after a limited number of response chunks."""

import random
import socket
import threading
import time

PIECE = 1 << 16


class Lossy:
    def __init__(self, target, pieces, silence_s):
        """Forwards about `pieces` chunks per connection, then cuts the connection; every third connection is silent for
        `silence_s` seconds before the cut."""
        self.target, self.pieces, self.silence_s = target, pieces, silence_s
        self.random = random.Random(pieces)
        self.cut = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
            except OSError:
                return
            pieces = self.random.randint(self.pieces // 2, self.pieces * 3 // 2)
            for pump in [self.pass_on, self.answer]:
                threading.Thread(target=pump, args=(client, server, pieces), daemon=True).start()

    def pass_on(self, client, server, _):
        copy(client, server, None)

    def answer(self, client, server, pieces):
        if copy(server, client, pieces):
            self.cut += 1
            if self.cut % 3 == 0:
                time.sleep(self.silence_s)
        for end in client, server:
            end.close()

    def close(self):
        self.listener.close()


def copy(source, sink, pieces):
    """Copies chunks. Returns true if it stopped after `pieces` chunks, false if one side closed the connection."""
    try:
        while piece := source.recv(PIECE):
            if pieces == 0:
                return True
            if pieces is not None:
                pieces -= 1
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    return False
