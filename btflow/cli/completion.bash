# Typer's own script would put a space behind `rtt=`, and take no word that bash breaks at `=`.
_btflow() {
  local IFS=$'\n' i at=-1 here=0 words=()
  for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
    if ((i > 1)) && [[ ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]]; then
      words[at]+=${COMP_WORDS[i]}
    else
      words[++at]=${COMP_WORDS[i]}
    fi
    if ((i <= COMP_CWORD)); then here=$at; fi
  done
  COMPREPLY=($(env COMP_WORDS="${words[*]}" COMP_CWORD=$here _BTFLOW_COMPLETE=complete_bash $1 2>/dev/null))
  if [[ ${words[here]} == *=* ]]; then COMPREPLY=("${COMPREPLY[@]#"${words[here]%%=*}="}"); fi
  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _btflow btflow
