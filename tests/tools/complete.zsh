# What zsh makes of words and a tab, in a terminal of its own:
#     zsh -f complete.zsh FOLDER-OF-_stepcast WORDS WANTED
# prints "ok" when WANTED appears; otherwise it waits until it is ended.
zmodload zsh/zpty
zpty shell "PS1='> ' TERM=dumb zsh -f -i"
# re''ady: the echo of the line is not taken for its output
zpty -w shell "fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; print re''ady"
zpty -r shell seen '*ready*'
zpty -r shell seen '*> '
zpty -w -n shell "$2"$'\t'
zpty -r -m shell seen "*$3*" && print ok
zpty -d shell
