// Arguments: a command's flags and positional arguments, with the rules of Go's flag package that
// Nomad's users and scripts know: one dash or two, `-flag value` or `-flag=value`, booleans alone
// or with `=false`, and flags end at the first positional argument or at `--`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace nomad::cli {

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

  /// A word that no user types: as the only argument it makes `parse` print the flags, one per
  /// line, for the shell's completion.
  static constexpr std::string_view list_flags = "-\1flags";

  /// Reads the arguments. When the command should end (help was asked for, or a mistake was
  /// printed), this is its exit code.
  std::optional<int> parse(const std::vector<std::string>& arguments);

  /// After `parse`: what is no flag.
  const std::vector<std::string>& positional() const { return positional_; }

  /// After `parse`: the flags that were given, as "-name" or "-name=value", in their order.
  const std::vector<std::string>& given() const { return given_; }

  /// Prints `problem` and where to find help, to stderr. Returns the exit code, 1.
  int misuse(std::string_view problem) const;

  std::string help() const;

private:
  /// "; did you mean -x?", or "".
  std::string suggestion(const std::string& name) const;

  std::unique_ptr<CLI::App> app_;
  std::string usage_;
  std::string about_;
  std::vector<std::string> positional_;
  std::vector<std::string> given_;
};

}  // namespace nomad::cli
