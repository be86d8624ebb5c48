// Shell completion: what can follow on a command line that is being typed.
//
// The shell runs the program with the line so far in COMP_LINE (`complete -C nomadctl nomadctl`)
// and reads one candidate per line; with COMP_DESCRIBED in the environment what is told of it
// stands behind it and a tab. An agent that does not answer costs half a second at most.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.hpp"
#include "cli/completion/candidates.hpp"

namespace nomad::cli {

/// What can stand for the last word of `line`: words of commands, flags, files, or what the agent
/// knows. Sorted. Never fails; no agent, no ids. All begin as the word that is typed.
std::vector<Candidate> completions(const CommandTree& commands, std::string_view line);

/// Answers COMP_LINE on stdout. False when the program was not run for that. `words` are the
/// program's arguments: bash gives the program's name, the word as bash sees it, which begins
/// behind "=" or ":", and the word before.
bool answer_completion(const CommandTree& commands, const std::vector<std::string>& words);

}  // namespace nomad::cli
