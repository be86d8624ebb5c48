#include "runtime/artifact/rules/credentials.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/text.hpp"

namespace nomad::artifact {
namespace {

/// The words of a netrc file: what stands behind a hash is none, to the end of its line.
class Words {
public:
  explicit Words(std::string_view text) : rest_{text} {}

  /// Empty at the end.
  std::string_view next() {
    for (;;) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(blank), rest_.size()));
      if (!rest_.starts_with('#')) break;
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    }
    const auto word = rest_.substr(0, rest_.find_first_of(blank));
    rest_.remove_prefix(word.size());
    return word;
  }

  /// A macro ends at an empty line.
  void skip_macro() {
    const auto end = rest_.find("\n\n");
    rest_.remove_prefix(std::min(end, rest_.size()));
  }

private:
  static constexpr std::string_view blank = " \t\r\n";

  std::string_view rest_;
};

}  // namespace

Result<std::optional<Login>> find_login(std::string_view netrc, std::string_view host) {
  const auto wanted = to_lower(host);
  std::optional<Login> found;
  std::optional<Login> of_any;
  std::optional<Login> other;  // Of hosts that nobody asks for.
  std::optional<Login>* entry = nullptr;
  Words words{netrc};
  for (auto word = words.next(); !word.empty(); word = words.next()) {
    if (word == "machine" || word == "default") {
      const bool is_any = word == "default";
      const auto name = is_any ? std::string_view{} : words.next();
      entry = is_any ? &of_any : to_lower(name) == wanted && !found ? &found : &other;
      entry->emplace();
    } else if (word == "macdef") {
      words.skip_macro();
    } else if (entry != nullptr && word == "login") {
      (*entry)->user = words.next();
    } else if (entry != nullptr && word == "password") {
      (*entry)->password = words.next();
    } else if (entry != nullptr && word == "account") {
      words.next();
    } else {
      return Error{Errc::invalid_argument, "a word that is none of a netrc file"};
    }
  }
  return found ? found : of_any;
}

Result<AwsKeys> find_profile(std::string_view file, std::string_view profile) {
  AwsKeys keys;
  bool is_here = false;
  for (const auto whole : split(file, '\n')) {
    const auto line = trim(whole);
    if (line.starts_with('[')) {
      is_here = trim(line.substr(1, line.find(']') - 1)) == profile;
      continue;
    }
    const auto equals = line.find('=');
    if (!is_here || equals == line.npos) continue;
    const auto name = to_lower(trim(line.substr(0, equals)));
    const auto value = trim(line.substr(equals + 1));
    if (name == "aws_access_key_id") keys.id = value;
    if (name == "aws_secret_access_key") keys.secret = value;
    if (name == "aws_session_token") keys.token = value;
  }
  if (!keys.are_given())
    return Error{Errc::not_found, "no keys of the profile \"" + std::string{profile} + "\""};
  return keys;
}

}  // namespace nomad::artifact
