# bash: what can follow on a line of nomadctl. The program knows it, and is asked each time.
_nomadctl() {
  local line word
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v word %q "$line"
    [[ $line != '~/'* ]] || word="~${word#\\~}"
    COMPREPLY+=("$word")
  done < <(COMP_LINE=$COMP_LINE COMP_POINT=$COMP_POINT "$1" "$1" "$2" "$3" 2>/dev/null)
  # A folder goes on.
  [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != */ ]] || compopt -o nospace
}
complete -F _nomadctl nomadctl
