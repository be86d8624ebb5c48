#include "cli/output/go_template.hpp"

#include <map>
#include <optional>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

namespace nomad::cli {
namespace {

using Json = boost::json::value;

/// A mistake in the template or in how it fits the data; caught in `render_go_template`.
struct Failure {
  std::string what;
};

/// As Go prints a value with %v.
std::string shown(const Json& value) {
  if (value.is_string()) return {value.get_string().data(), value.get_string().size()};
  if (value.is_null()) return "<nil>";
  if (value.is_array()) {
    std::string text = "[";
    for (const auto& item : value.get_array())
      text += (text.size() > 1 ? " " : "") + shown(item);
    return text + ']';
  }
  if (value.is_object()) {
    std::map<std::string, std::string> sorted;
    for (const auto& member : value.get_object())
      sorted[std::string{member.key()}] = shown(member.value());
    std::string text = "map[";
    for (const auto& [key, content] : sorted)
      text += (text.size() > 4 ? " " : "") + key + ':' + content;
    return text + ']';
  }
  return boost::json::serialize(value);
}

bool is_true(const Json& value) {
  if (value.is_null()) return false;
  if (value.is_bool()) return value.get_bool();
  if (value.is_string()) return !value.get_string().empty();
  if (value.is_array()) return !value.get_array().empty();
  if (value.is_object()) return !value.get_object().empty();
  return value.to_number<double>() != 0;
}

/// Text and actions, `{{-` and `-}}` applied.
struct Piece {
  bool is_action = false;
  std::string text;
};

std::vector<Piece> split(std::string_view source) {
  std::vector<Piece> pieces;
  constexpr std::string_view space = " \t\r\n";
  bool trim_next = false;
  while (!source.empty()) {
    const auto open = source.find("{{");
    std::string text{source.substr(0, open)};
    if (trim_next) text.erase(0, std::min(text.find_first_not_of(space), text.size()));
    if (open == std::string_view::npos) {
      pieces.push_back({false, text});
      break;
    }
    source.remove_prefix(open + 2);
    const auto close = source.find("}}");
    if (close == std::string_view::npos) throw Failure{"unclosed action"};
    std::string action{source.substr(0, close)};
    source.remove_prefix(close + 2);
    if (action.starts_with("- ")) {
      action.erase(0, 2);
      text.erase(text.find_last_not_of(space) + 1);
    }
    trim_next = action.ends_with(" -");
    if (trim_next) action.erase(action.size() - 2);
    pieces.push_back({false, text});
    pieces.push_back({true, action});
  }
  return pieces;
}

std::vector<std::string> words_of(std::string_view action) {
  std::vector<std::string> words;
  std::size_t i = 0;
  while (i < action.size()) {
    const char c = action[i];
    if (c == ' ' || c == '\t' || c == '\n') {
      ++i;
    } else if (c == '"' || c == '`') {
      std::string word{c};
      for (++i; i < action.size() && action[i] != c; ++i) {
        if (c == '"' && action[i] == '\\' && i + 1 < action.size()) {
          const char escaped = action[++i];
          word += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped;
        } else {
          word += action[i];
        }
      }
      if (i == action.size()) throw Failure{"unterminated quoted string"};
      ++i;
      words.push_back(std::move(word));
    } else if (c == '(' || c == ')' || c == '|' || c == ',') {
      words.emplace_back(1, c);
      ++i;
    } else {
      std::string word;
      while (i < action.size()
             && std::string_view{" \t\n()|,\"`"}.find(action[i]) == std::string_view::npos)
        word += action[i++];
      words.push_back(std::move(word));
    }
  }
  return words;
}

class Renderer {
public:
  Renderer(std::vector<Piece> pieces, const Json& data) : pieces_{std::move(pieces)} {
    variables_["$"] = data;
  }

  std::string run(const Json& data) {
    std::string out;
    if (!block(0, data, &out, nullptr).empty()) throw Failure{"unexpected {{end}} or {{else}}"};
    return out;
  }

private:
  /// Renders from piece `at` to the `else` or `end` that closes the block, which is returned ("" at
  /// the end of the template). With a null `out` the block is skipped. `next` gets the place after.
  std::string block(std::size_t at, const Json& dot, std::string* out, std::size_t* next) {
    if (++depth_ > 64) throw Failure{"nested too deep"};
    while (at < pieces_.size()) {
      const auto& piece = pieces_[at++];
      if (!piece.is_action) {
        if (out != nullptr) *out += piece.text;
        continue;
      }
      auto words = words_of(piece.text);
      if (words.empty() || words[0].starts_with("/*")) continue;
      if (words[0] == "end" || words[0] == "else") {
        if (next != nullptr) *next = at;
        --depth_;
        std::string closing = piece.text;
        return words[0] == "end" ? "end" : closing.substr(closing.find("else"));
      }
      if (words[0] == "range" || words[0] == "if" || words[0] == "with")
        at = control(at, words, dot, out);
      else if (out != nullptr)
        action(words, dot, *out);
    }
    --depth_;
    if (next != nullptr) throw Failure{"unexpected EOF: an {{end}} is missing"};
    return "";
  }

  void action(const std::vector<std::string>& words, const Json& dot, std::string& out) {
    if (words.size() > 2 && words[0].starts_with('$') && (words[1] == ":=" || words[1] == "=")) {
      variables_[words[0]] = pipeline({words.begin() + 2, words.end()}, dot);
      return;
    }
    out += shown(pipeline(words, dot));
  }

  std::size_t control(std::size_t body,
                      const std::vector<std::string>& words,
                      const Json& dot,
                      std::string* out) {
    std::size_t after = 0;
    std::vector<std::string> names;
    std::vector<std::string> condition{words.begin() + 1, words.end()};
    for (std::size_t i = 0; i < condition.size(); ++i)
      if (condition[i] == ":=") {
        for (std::size_t j = 0; j < i; ++j)
          if (condition[j] != ",") names.push_back(condition[j]);
        condition.erase(condition.begin(), condition.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        break;
      }
    const Json value = out == nullptr ? Json{} : pipeline(condition, dot);
    const bool taken = out != nullptr && is_true(value);
    std::string closing;
    if (words[0] == "range" && taken) {
      closing = loop(body, value, names, out, after);
    } else {
      if (taken && !names.empty()) variables_[names.back()] = value;
      closing
          = block(body, words[0] == "with" && taken ? value : dot, taken ? out : nullptr, &after);
    }
    bool done = taken;
    while (closing != "end") {
      auto next_words = words_of(closing);
      const bool chained = next_words.size() > 1;  // {{else if …}}
      const bool holds
          = out != nullptr && !done
            && (!chained || is_true(pipeline({next_words.begin() + 2, next_words.end()}, dot)));
      closing = block(after, dot, holds ? out : nullptr, &after);
      done |= holds;
    }
    return after;
  }

  std::string loop(std::size_t body,
                   const Json& value,
                   const std::vector<std::string>& names,
                   std::string* out,
                   std::size_t& after) {
    std::string closing;
    const auto once = [&](const Json& key, const Json& item) {
      if (names.size() == 2) variables_[names[0]] = key;
      if (!names.empty()) variables_[names.back()] = item;
      closing = block(body, item, out, &after);
    };
    if (value.is_array()) {
      std::int64_t place = 0;
      for (const auto& item : value.get_array())
        once(place++, item);
    } else if (value.is_object()) {
      std::map<std::string, const Json*> sorted;
      for (const auto& member : value.get_object())
        sorted[std::string{member.key()}] = &member.value();
      for (const auto& [key, item] : sorted)
        once(boost::json::string{key}, *item);
    } else {
      throw Failure{"range can't iterate over " + shown(value)};
    }
    return closing;
  }

  Json pipeline(const std::vector<std::string>& words, const Json& dot) {
    std::optional<Json> previous;
    std::size_t at = 0;
    while (at < words.size()) {
      std::vector<std::string> command;
      int open = 0;
      for (; at < words.size() && (open > 0 || words[at] != "|"); ++at) {
        open += words[at] == "(" ? 1 : words[at] == ")" ? -1 : 0;
        command.push_back(words[at]);
      }
      ++at;
      previous = run_command(command, dot, previous);
    }
    if (!previous) throw Failure{"missing value for command"};
    return *previous;
  }

  Json run_command(const std::vector<std::string>& words,
                   const Json& dot,
                   const std::optional<Json>& piped) {
    if (words.empty()) throw Failure{"missing value for command"};
    std::size_t at = 0;
    const bool is_call = is_function(words[0]);
    std::vector<Json> arguments;
    if (is_call) ++at;
    while (at < words.size())
      arguments.push_back(operand(words, at, dot));
    if (piped) arguments.push_back(*piped);
    if (is_call) return call(words[0], arguments);
    if (arguments.size() != 1)
      throw Failure{fmt::format("can't give argument to non-function {}", words[0])};
    return arguments[0];
  }

  Json operand(const std::vector<std::string>& words, std::size_t& at, const Json& dot) {
    const auto& word = words[at++];
    if (word == "(") {
      std::vector<std::string> inner;
      for (int open = 1; at < words.size(); ++at) {
        open += words[at] == "(" ? 1 : words[at] == ")" ? -1 : 0;
        if (open == 0) break;
        inner.push_back(words[at]);
      }
      if (at++ >= words.size()) throw Failure{"unclosed left paren"};
      auto value = pipeline(inner, dot);
      if (at < words.size() && words[at].starts_with('.')) return field(value, words[at++]);
      return value;
    }
    if (word[0] == '"' || word[0] == '`')
      return boost::json::string{word.data() + 1, word.size() - 1};
    if (word == "true" || word == "false") return word == "true";
    if (word == "nil") return nullptr;
    if (word[0] == '.') return field(dot, word);
    if (word[0] == '$') {
      const auto dot_place = word.find('.');
      const auto known = variables_.find(word.substr(0, dot_place));
      if (known == variables_.end()) throw Failure{fmt::format("undefined variable \"{}\"", word)};
      return dot_place == std::string::npos ? known->second
                                            : field(known->second, word.substr(dot_place));
    }
    boost::json::error_code failure;
    auto number = boost::json::parse(word, failure);
    if (failure || !number.is_number())
      throw Failure{fmt::format("function \"{}\" not defined", word)};
    return number;
  }

  /// `.A.B` of `value`.
  static Json field(const Json& value, std::string_view path) {
    const Json* at = &value;
    while (!path.empty() && path != ".") {
      path.remove_prefix(1);
      const auto name = path.substr(0, path.find('.'));
      path.remove_prefix(name.size());
      if (at->is_null()) return nullptr;
      if (!at->is_object())
        throw Failure{fmt::format("can't evaluate field {} in {}", name, shown(*at))};
      at = at->get_object().if_contains({name.data(), name.size()});
      if (at == nullptr) throw Failure{fmt::format("can't evaluate field {}", name)};
    }
    return *at;
  }

  static bool is_function(const std::string& word) {
    for (const auto* known : {"index", "len", "printf", "print", "println", "json", "eq", "ne",
                              "lt", "gt", "and", "or", "not", "toJSON"})
      if (word == known) return true;
    return false;
  }

  static double number_of(const Json& value) {
    if (!value.is_number()) throw Failure{"incompatible types for comparison"};
    return value.to_number<double>();
  }

  static Json call(const std::string& name, const std::vector<Json>& args) {
    const auto need = [&](std::size_t count) {
      if (args.size() < count)
        throw Failure{
            fmt::format("wrong number of args for {}: want {} got {}", name, count, args.size())};
    };
    need(1);
    if (name == "len") {
      if (args[0].is_string()) return static_cast<std::int64_t>(args[0].get_string().size());
      if (args[0].is_array()) return static_cast<std::int64_t>(args[0].get_array().size());
      if (args[0].is_object()) return static_cast<std::int64_t>(args[0].get_object().size());
      return std::int64_t{0};
    }
    if (name == "json" || name == "toJSON")
      return boost::json::string{boost::json::serialize(args[0])};
    if (name == "not") return !is_true(args[0]);
    if (name == "and" || name == "or") {
      for (const auto& arg : args)
        if (is_true(arg) == (name == "or")) return arg;
      return args.back();
    }
    if (name == "printf") return boost::json::string{format(args)};
    if (name == "print" || name == "println") {
      std::string text;
      for (const auto& arg : args)
        text += shown(arg) + (name == "println" && &arg != &args.back() ? " " : "");
      return boost::json::string{name == "println" ? text + '\n' : text};
    }
    need(2);
    if (name == "index") return index(args);
    if (name == "eq" || name == "ne") {
      bool equal = false;
      for (std::size_t i = 1; i < args.size(); ++i)
        equal |= shown(args[0]) == shown(args[i]);
      return equal == (name == "eq");
    }
    return name == "lt" ? number_of(args[0]) < number_of(args[1])
                        : number_of(args[0]) > number_of(args[1]);
  }

  static Json index(const std::vector<Json>& args) {
    const Json* at = &args[0];
    for (std::size_t i = 1; i < args.size(); ++i) {
      if (at->is_array() && args[i].is_number()) {
        const auto place = args[i].to_number<std::int64_t>();
        if (place < 0 || static_cast<std::size_t>(place) >= at->get_array().size())
          throw Failure{fmt::format("index out of range: {}", place)};
        at = &at->get_array()[static_cast<std::size_t>(place)];
      } else if (at->is_object() && args[i].is_string()) {
        at = at->get_object().if_contains(args[i].get_string());
        if (at == nullptr) return nullptr;
      } else {
        throw Failure{"can't index " + shown(*at)};
      }
    }
    return *at;
  }

  static std::string format(const std::vector<Json>& args) {
    const auto pattern = shown(args[0]);
    std::string text;
    std::size_t next = 1;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] != '%' || i + 1 == pattern.size()) {
        text += pattern[i];
        continue;
      }
      std::string width;
      for (++i; i < pattern.size()
                && std::string_view{"-0123456789."}.find(pattern[i]) != std::string_view::npos;
           ++i)
        width += pattern[i];
      const char verb = i < pattern.size() ? pattern[i] : '%';
      if (verb == '%') {
        text += '%';
        continue;
      }
      if (next >= args.size()) throw Failure{fmt::format("printf: missing argument for %{}", verb)};
      text += formatted(args[next++], verb, width);
    }
    return text;
  }

  static std::string formatted(const Json& value, char verb, const std::string& width) {
    std::string text = shown(value);
    if (verb == 'q') text = boost::json::serialize(boost::json::string{text});
    if (verb == 'f' && value.is_number()) {
      const auto dot = width.find('.');
      const int digits = dot == std::string::npos ? 6 : std::atoi(width.c_str() + dot + 1);
      text = fmt::format("{:.{}f}", value.to_number<double>(), digits);
    }
    const bool left = width.starts_with('-');
    const auto columns = static_cast<std::size_t>(std::abs(std::atoi(width.c_str())));
    if (text.size() < columns) {
      const std::string padding(columns - text.size(), ' ');
      text = left ? text + padding : padding + text;
    }
    return text;
  }

  std::vector<Piece> pieces_;
  std::map<std::string, Json> variables_;
  int depth_ = 0;
};

}  // namespace

Result<std::string> render_go_template(std::string_view text, const boost::json::value& data) {
  try {
    return Renderer{split(text), data}.run(data);
  } catch (const Failure& failure) {
    return Error{Errc::invalid_argument, "template: " + failure.what};
  }
}

}  // namespace nomad::cli
