"""`lean-sidecar`, or `python -m sidecar`: run a command and leave with its exit status.

In: the command line. Out: answers on stdout, messages on stderr, and an exit status: 0 success, 1 a check that ran and
found faults, otherwise `sidecar.errors.EXIT_STATUS`.
"""

from __future__ import annotations

import sys

from sidecar.errors import SidecarError


def main() -> None:
    """Run the command line and leave with its exit status."""
    try:
        if sys.argv[1:] == ["bridge"]:
            # A Lean process waits for this one, and what reads options takes longer to load than all of the bridge.
            from sidecar.bridge import run_bridge
            from sidecar.settings import Settings

            sys.exit(run_bridge(Settings()))
        from sidecar.cli.output import speak_to_people

        speak_to_people()
        # Threads that spin would take the cores away from Lean; this must be said before torch is loaded.
        from sidecar.encoder.threads import use_quiet_threads

        use_quiet_threads()
        from sidecar.cli.main import app

        try:
            app()
        finally:
            # What does not fit is met here, where it can be said, and not while the interpreter ends.
            sys.stdout.flush()
    except SidecarError as error:
        from sidecar.cli.output import fail

        fail(error, as_json="--json" in sys.argv)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
