"""python -m stepcast.capture [--world N] [--mesh pp=8,dp=16,tp=8] SCRIPT [-- ARGUMENTS]"""

import argparse
import sys
import traceback

from . import CaptureError, script


def parse_mesh(text):
    """pp=8,dp=16,tp=8: the slowest dimension first, as DeviceMesh has them."""
    mesh = []
    for part in text.split(","):
        name, equals, size = part.partition("=")
        if not equals or not name or not size.isdigit() or int(size) < 1:
            raise argparse.ArgumentTypeError(f"'{part}' is not NAME=SIZE, as in pp=8,dp=16,tp=8")
        mesh.append((name, int(size)))
    return mesh


def parse_ranks(text):
    if text in ("auto", "all"):
        return text
    if not all(word.isdigit() for word in text.split(",")):
        raise argparse.ArgumentTypeError(f"'{text}': auto, all, or numbers as in 0,8,16")
    return [int(word) for word in text.split(",")]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m stepcast.capture",
        description="Capture one training step of a PyTorch script; no GPU needed.",
        epilog="The step is what runs between two calls of optimizer.step().",
    )
    parser.add_argument("script", help="the training script")
    parser.add_argument("arguments", nargs="*", help="its arguments, behind --")
    parser.add_argument("--world", type=int, default=1, metavar="N", help="ranks of the job")
    parser.add_argument(
        "--mesh", type=parse_mesh, metavar="DIMS", help="dimensions of the ranks, slowest first"
    )
    parser.add_argument(
        "--ranks", type=parse_ranks, default="auto", help="ranks to capture: auto, all, 0,8,…"
    )
    parser.add_argument(
        "--warm-up", type=int, default=1, metavar="N", help="optimizer steps before the captured one"
    )
    parser.add_argument(
        "--every-layer", action="store_true", help="run layers that are equal to others, too"
    )
    parser.add_argument(
        "--traceback", action="store_true", help="where in the script an error came from"
    )
    parser.add_argument("-o", "--output", default="capture.json", metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        result = script(
            options.script,
            options.arguments,
            world_size=options.world,
            mesh=options.mesh,
            ranks=options.ranks,
            warm_up=options.warm_up,
            every_layer=options.every_layer,
        )
    except CaptureError as error:
        if options.traceback:
            print(error.where or traceback.format_exc(), file=sys.stderr)
        print(f"stepcast.capture: error: {error}", file=sys.stderr)
        return 3
    result.write(options.output)
    print(result.summary())
    print(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
