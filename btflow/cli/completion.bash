# Typer's own script would put a space behind `rtt=`.
_btflow() {
  local IFS=$'\n'
  COMPREPLY=($(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _BTFLOW_COMPLETE=complete_bash $1 2>/dev/null))
  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _btflow btflow
