#include "cli/completion/typed_line.hpp"

#include <algorithm>

namespace nomad::cli {

TypedLine read_line(std::string_view line) {
  TypedLine out;
  bool inside = false;  // of a word
  char quote = 0;
  std::string word;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) out.words.push_back(std::move(word));
      word.clear();
      inside = false;
      continue;
    }
    inside = true;
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c != '\\' || quote == '\'')
      word += c;
    else if (at + 1 < line.size())
      word += line[++at];
  }
  out.typed = std::move(word);
  return out;
}

bool GivenWords::has_flag(std::string_view name) const {
  return std::ranges::find(flags, name, [](const auto& flag) { return flag.first; }) != flags.end();
}

GivenWords read_words(const CommandShape& shape, std::span<const std::string> words) {
  GivenWords given;
  for (const std::string& word : words) {
    if (!given.open_flag.empty()) {
      given.flags.emplace_back(std::exchange(given.open_flag, {}), word);
      continue;
    }
    if (word.size() < 2 || word[0] != '-' || word == "--") {
      if (word != "--") given.words.push_back(word);
      continue;
    }
    const auto [name, value] = split_flag(word);
    const FlagShape* const flag = shape.flag(name);
    if (flag != nullptr && flag->takes_value && word.find('=') == std::string::npos)
      given.open_flag = name;
    else
      given.flags.emplace_back(name, value);
  }
  return given;
}

std::pair<std::string_view, std::string_view> split_flag(std::string_view word) {
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  const auto equals = std::min(word.find('='), word.size());
  return {word.substr(0, equals), word.substr(std::min(equals + 1, word.size()))};
}

}  // namespace nomad::cli
