# Typer's own script would put a space behind `rtt=`.
_btflow() {
  local -a given=("${(@f)$(env _BTFLOW_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args \
    _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" $words[1] 2>/dev/null)}")
  local -a names=("${(@)${(@)given//:/\\:}/$'\t'/:}") behind=()
  if [[ $given[1] == *=(|$'\t'*) ]]; then behind=(-S '') fi
  if [[ -n $given ]]; then _describe btflow names "${(@)behind}"; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _btflow btflow
