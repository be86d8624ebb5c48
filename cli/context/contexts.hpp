// Contexts: clusters by names of the user's own, each with what the connection flags say. They are
// in one file of the user's alone, and the token that `login` got for one is in a file beside it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/api.hpp"
#include "runtime/base/result.hpp"

namespace nomad::cli {

/// What a context says. The token is kept apart.
using Context = Connection;

struct Contexts {
  std::string current;  ///< The one that is used without a word; "": none.
  std::map<std::string, Context> all;

  friend bool operator==(const Contexts&, const Contexts&) = default;
};

/// Reads and writes the text of the file. Unknown members are passed over.
Result<Contexts> contexts_of(std::string_view text);
std::string text_of(const Contexts& contexts);

/// A name is of letters, digits, '-', '_' and '.', 64 at most, and does not begin with a dot: it is
/// a file's name, too.
Result<> check_context_name(std::string_view name);

/// Errors: not_found, which says how to see those there are.
Result<Context> find_context(const Contexts& contexts, const std::string& name);

/// Fills in what `flags` leave empty. `is_named`: the user said to use this context. With an
/// address of the flags' own, a context that nobody named says nothing, and the keys of one that
/// was named stay with the address that they are for; `flags.context` is empty in both cases.
void fill_in(CommonFlags& flags, const Context& context, const std::string& token, bool is_named);

/// The folder of the user: $XDG_CONFIG_HOME/nomadctl, or ~/.config/nomadctl.
Result<std::string> contexts_folder();

/// None if there is no file.
Result<Contexts> load_contexts();
Result<> save_contexts(const Contexts& contexts);

/// The secret that `login` got for a context; "" if none did. A file that others may read is an
/// error.
Result<std::string> load_token(const std::string& context);
Result<> save_token(const std::string& context, std::string_view secret);
Result<> remove_token(const std::string& context);

/// From the context that `flags` name, else the current one, by `fill_in`; `flags.context` is then
/// the one whose address is asked. An error if the named one is not there.
Result<> fill_from_context(CommonFlags& flags);

}  // namespace nomad::cli
