// Arguments: a command's flags and positional arguments, with the rules of Go's flag package that
// Nomad's users and scripts know: one dash or two, `-flag value` or `-flag=value`, booleans alone
// or with `=false`, and flags end at the first positional argument or at `--`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/command_shape.hpp"
#include "runtime/base/result.hpp"

namespace CLI {
class App;
}

namespace nomad::cli {

/// How many words a command takes behind its flags, and what it says when there are others.
struct WordCount {
  std::size_t least = 0;
  std::size_t most = 0;
  std::string otherwise = "This command takes no arguments";
};

/// As many as one likes.
inline const WordCount any_words{0, SIZE_MAX, {}};
/// One, called `name` in messages: "<node>".
WordCount one_word(std::string_view name);
/// One or none.
WordCount optional_word(std::string_view name);

class Arguments {
public:
  /// `usage` is what follows the program's name: "job run [options] <path>"; `about` a paragraph.
  Arguments(std::string_view usage, std::string_view about);
  ~Arguments();

  void flag(std::string_view name, bool& target, std::string_view help);
  /// A boolean for which "not given" differs from false.
  void flag(std::string_view name, std::optional<bool>& target, std::string_view help);
  void option(std::string_view name, std::string& target, std::string_view help);
  void option(std::string_view name, std::optional<std::string>& target, std::string_view help);
  void option(std::string_view name, std::int64_t& target, std::string_view help);
  void option(std::string_view name, std::optional<std::int64_t>& target, std::string_view help);
  void option(std::string_view name, std::vector<std::string>& target, std::string_view help);

  // The same with the target kept here: what is returned has the flag's value after `parse`, or
  // `otherwise`, and lives as long as this.
  template <class T = bool>
  T& flag(std::string_view name, std::string_view help, T otherwise = {}) {
    auto& target = keep<T>(std::move(otherwise));
    flag(name, target, help);
    return target;
  }

  template <class T = std::string>
  T& option(std::string_view name, std::string_view help, std::type_identity_t<T> otherwise = {}) {
    auto& target = keep<T>(std::move(otherwise));
    option(name, target, help);
    return target;
  }

  std::int64_t& number(std::string_view name, std::string_view help, std::int64_t otherwise = 0) {
    return option<std::int64_t>(name, help, otherwise);
  }

  /// May stand several times.
  std::vector<std::string>& list(std::string_view name, std::string_view help) {
    return option<std::vector<std::string>>(name, help);
  }

  /// A word that no user types: as the only argument it makes `parse` print what the command takes
  /// (`shape_text`).
  static constexpr std::string_view show_shape = "-\1shape";

  /// What `parse` does at its end, such as filling in what no flag has said. An error ends the
  /// command.
  void then(std::function<Result<>()> step) { steps_.push_back(std::move(step)); }

  /// Flags may stand behind words as well; what follows "--" is words. Otherwise flags end where
  /// the first word is, as Nomad's do.
  void flags_may_follow_words() { mixes_words_ = true; }

  /// Reads the arguments. When the command should end (help was asked for, or a mistake was
  /// printed), this is its exit code.
  std::optional<int> parse(const std::vector<std::string>& arguments);

  /// The same for commands with a fixed number of words behind the flags.
  std::optional<int> parse(const std::vector<std::string>& arguments, const WordCount& words);

  /// After `parse`: what is no flag.
  const std::vector<std::string>& positional() const { return positional_; }

  /// After `parse`: the flags that were given, as "-name" or "-name=value", in their order.
  const std::vector<std::string>& given() const { return given_; }

  /// Whether the flag of this name, without dashes, was given.
  bool is_given(std::string_view name) const;

  /// After `parse`, of a list that has more: says which command shows the next page, which is this
  /// one as it was called, but for secrets. Nothing without a token.
  void hint_next_page(const std::string& page_token) const;

  /// Prints `problem` and where to find help, to stderr. Returns the exit code, 1.
  int misuse(std::string_view problem) const;

  std::string help() const;
  CommandShape shape() const;

private:
  template <class T>
  T& keep(T value) {
    auto kept = std::make_shared<T>(std::move(value));
    kept_.push_back(kept);
    return *kept;
  }

  /// "; did you mean -x?", or "".
  std::string suggestion(const std::string& name) const;

  std::unique_ptr<CLI::App> app_;
  std::vector<std::function<Result<>()>> steps_;
  std::vector<std::shared_ptr<void>> kept_;  ///< Targets of flags.
  std::string usage_;
  std::string about_;
  std::vector<std::string> positional_;
  bool mixes_words_ = false;
  std::vector<std::string> given_;
};

}  // namespace nomad::cli
