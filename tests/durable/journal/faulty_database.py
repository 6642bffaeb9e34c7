"""A database that fails where a test wants it to fail."""

from __future__ import annotations

from tests.steps.crashing_steps import Killed

__all__ = ["FaultyDatabase"]


class FaultyDatabase:
    """
    The database *real*, with one fault at a time.

    Attributes:
        fault: What goes wrong next. "kill before" and "kill after": the process ends at the statement number
            *position*, before or after it; a commit counts as a statement. "repeat": the confirmation of a commit is
            lost, so the transaction is done again. "cut": the server ends the connection at that statement.
    """

    def __init__(self, real):
        self._real = real
        self.dialect = real.dialect
        self.describe_error = real.describe_error
        self.close = real.close
        self.fault = None
        self.position = 0

    def read(self, work):
        """Read without a fault."""
        return self._real.read(work)

    def change(self, work, *, durable=True):
        """Change something, with the fault."""
        statements_left = self.position
        fault = self.fault

        def count(execute, statement, parameters):
            nonlocal statements_left, fault
            statements_left -= 1
            if statements_left != 0 or fault in (None, "repeat"):
                return execute(statement, parameters)
            if fault == "kill before":
                raise Killed
            if fault == "cut":
                fault = None  # The next attempt succeeds.
                execute("SELECT pg_terminate_backend(pg_backend_pid())", ())
            execute(statement, parameters)
            raise Killed

        def faulty(execute):
            return work(lambda statement, parameters: count(execute, statement, parameters))

        result = self._real.change(faulty, durable=durable)
        return self._end(lambda: self._real.change(faulty, durable=durable), result, statements_left)

    def change_once(self, statement, parameters, *, durable=True):
        """Run one statement, with the fault."""
        if self.fault == "kill before" and self.position == 1:
            raise Killed
        result = self._real.change_once(statement, parameters, durable=durable)
        return self._end(
            lambda: self._real.change_once(statement, parameters, durable=durable), result, self.position - 1
        )

    def _end(self, repeat, result, statements_left):
        if self.fault == "repeat":
            return repeat()
        if self.fault in ("kill before", "kill after") and statements_left > 0:
            raise Killed  # after the commit
        return result
