# What bash loads before each script of this folder: the programs that a launch
# runs only say what they are given, one word a line on descriptor 9.
launched() { printf '%s\n' ">>>" "$@" >&9; }
torchrun() { launched torchrun "$@"; }
python() { launched python "$@"; }
python3() { launched python3 "$@"; }
deepspeed() { launched deepspeed "$@"; }
srun() {
    launched srun "$@"
    while [ $# -gt 0 ]; do
        [ "$1" = bash ] && { "$@"; return; }
        shift
    done
}
sbatch() { bash; }
tee() { command cat >/dev/null; }
