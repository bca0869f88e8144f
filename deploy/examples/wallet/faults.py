"""Injected faults."""

import random
import time

import grpc


class Faults:
    """Each kind of fault occurs on average once in the given number of calls, or never if the number is 0."""

    def __init__(self, lose_answer=0, lose_call=0, double=0, fail=0, lie=0, delay_ms=0, seed=None):
        self.every = {"lose_answer": lose_answer, "lose_call": lose_call, "double": double, "fail": fail, "lie": lie}
        self.delay_ms = delay_ms
        self.random = random.Random(seed)
        self.happened = dict.fromkeys(self.every, 0)

    def now(self, what):
        every = self.every[what]
        happens = every > 0 and self.random.randrange(every) == 0
        self.happened[what] += happens
        return happens

    def around(self, context, apply):
        if self.delay_ms:
            time.sleep(self.random.uniform(0, 2 * self.delay_ms) / 1000)
        if self.now("fail"):
            context.abort(grpc.StatusCode.INTERNAL, "the wallet has failed")
        if self.now("lose_call"):
            context.abort(grpc.StatusCode.UNAVAILABLE, "the call was lost")
        if self.now("double"):
            apply()
        outcome, balance, reason = apply()
        if self.now("lose_answer"):
            context.abort(grpc.StatusCode.UNAVAILABLE, "the answer was lost")
        return outcome, -1 if self.now("lie") else balance, reason
