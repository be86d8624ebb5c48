#include "runtime/config/key_reader.hpp"

#include <algorithm>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/access/limits.hpp"
#include "runtime/base/similar_name.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/config/keys.hpp"

namespace nomad::config {
namespace {

namespace json = boost::json;

std::string as_text(const json::value& value) {
  if (value.is_string()) return {value.get_string().data(), value.get_string().size()};
  return json::serialize(value);
}

bool is_scalar(const json::value& value) {
  return value.is_string() || value.is_bool() || value.is_number();
}

/// An object, or a list of objects.
bool is_block(const json::value& value) {
  const auto* parts = value.if_array();
  return value.is_object()
         || (parts != nullptr && std::ranges::all_of(*parts, &json::value::is_object));
}

/// The objects of what is a block, in their order.
std::vector<const json::object*> parts_of(const json::value& block) {
  if (const auto* whole = block.if_object()) return {whole};
  std::vector<const json::object*> parts;
  for (const auto& part : block.as_array())
    parts.push_back(&part.as_object());
  return parts;
}

std::optional<bool> to_boolean(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

/// Puts a value where its key says, if it does: of several types, the one that fits.
template <class T, class Change>
void change(const Target& target, Change&& how) {
  if (T* const* member = std::get_if<T*>(&target)) how(**member);
}

/// Reads values of one key. Each function returns what is wrong, "" if nothing is.
class ValueReader {
public:
  ValueReader(const Key& key, const std::string& label, AgentConfig& into)
      : target_{key.member == nullptr ? Target{} : key.member(into, label)},
        key_{key},
        label_{label} {}

  std::string read(const json::value& value) {
    switch (key_.kind) {
      case Kind::text:
        return text(value);
      case Kind::boolean:
        return boolean(value);
      case Kind::integer:
        return number<std::int64_t>(value, "expected a whole number");
      case Kind::real:
        return number<double>(value, "expected a number");
      case Kind::duration:
        return duration(value);
      case Kind::list:
        return list(value);
      case Kind::map:
        return map(value);
      case Kind::block:
        return is_block(value) ? "" : "expected a block";
    }
    return {};
  }

private:
  std::string text(const json::value& value) {
    if (!is_scalar(value)) return "expected a text";
    change<std::string>(target_, [&](auto& member) { member = as_text(value); });
    return {};
  }

  std::string boolean(const json::value& value) {
    const auto given = to_boolean(as_text(value));
    if (!given) return "expected true or false";
    change<bool>(target_, [&](auto& member) {
      if (*given || is_on_by_default()) member = *given;
    });
    change<std::string>(target_, [&](auto& member) { member = *given ? "true" : "false"; });
    return {};
  }

  template <class Number>
  std::string number(const json::value& value, std::string_view expected) {
    Number given{};
    if (!read_whole_number(as_text(value), given)) return std::string{expected};
    change<Number>(target_, [&](auto& member) { member = given; });
    change<std::string>(target_, [&](auto& member) { member = as_text(value); });
    return {};
  }

  std::string duration(const json::value& value) {
    const auto given = parse_duration(as_text(value));
    if (!given) return given.error().what;
    change<Nanoseconds>(target_, [&](auto& member) { member = *given; });
    return {};
  }

  std::string list(const json::value& value) {
    if (!value.is_array() || !std::ranges::all_of(value.get_array(), is_scalar))
      return "expected a list of texts";
    change<std::vector<std::string>>(target_, [&](auto& member) {
      for (const auto& item : value.get_array())
        member.push_back(as_text(item));
    });
    // The settings of drivers are texts.
    change<std::string>(target_, [&](auto& member) {
      member.clear();
      for (const auto& item : value.get_array())
        member += (member.empty() ? "" : ",") + as_text(item);
    });
    return {};
  }

  std::string map(const json::value& value) {
    if (!is_block(value)) return "expected a block";
    json::object all;
    for (const auto* part : parts_of(value))
      for (const auto& each : *part) {
        if (!is_scalar(each.value()))
          return fmt::format("{}: expected a text", std::string_view{each.key()});
        change<TextMap>(target_, [&](auto& member) {
          member[std::string{each.key()}] = as_text(each.value());
        });
        all[each.key()] = as_text(each.value());
      }
    // The settings of drivers are texts.
    change<std::string>(target_, [&](auto& member) { member = json::serialize(all); });
    return {};
  }

  bool is_on_by_default() const {
    AgentConfig fresh;
    return *std::get<bool*>(key_.member(fresh, label_));
  }

  Target target_;
  const Key& key_;
  const std::string& label_;
};

/// Whether a value without effect asks for nothing.
bool is_idle(const Key& key, const json::value& value) {
  if (key.kind == Kind::list || key.kind == Kind::map || key.kind == Kind::block) {
    if (key.kind == Kind::list) return value.get_array().empty();
    return std::ranges::all_of(parts_of(value), [&](const json::object* part) {
      const auto* enabled = key.kind == Kind::block ? part->if_contains("enabled") : nullptr;
      return part->empty() || (enabled != nullptr && to_boolean(as_text(*enabled)) == false);
    });
  }
  const auto text = as_text(value);
  if (key.kind == Kind::boolean)
    return to_boolean(text) == to_boolean(key.idle.empty() ? "false" : key.idle);
  const bool is_number = key.kind == Kind::integer || key.kind == Kind::real;
  if (text.empty() || text == key.idle || (is_number && text == "0")) return true;
  if (key.kind != Kind::duration) return false;
  const auto given = parse_duration(text);
  const auto idle = parse_duration(std::string{key.idle});
  return given && idle && *given == *idle;
}

class KeyReader {
public:
  KeyReader(const std::string& file, const ConfigTree& from, AgentConfig& into)
      : file_{file}, from_{from}, into_{into} {
    block(from.tree, "", "", "");
  }

  Findings take() && { return std::move(findings_); }

private:
  /// `path` is how the file has it, `row` how the table has it: with a star for `label`.
  void block(const json::object& tree,
             const std::string& path,
             const std::string& row,
             const std::string& label) {
    const auto names = names_in(row);
    const bool is_labelled = std::find(names.begin(), names.end(), "*") != names.end();
    for (const auto& member : tree) {
      const std::string name{member.key()};
      const auto below = [](const std::string& block, const std::string& step) {
        return block.empty() ? step : block + '.' + step;
      };
      const auto inner = below(path, name);
      const auto inner_row = below(row, is_labelled ? "*" : name);
      // What nearly is a built-in name is taken for a mistake.
      if (path == "plugin" && names_in(inner_row).empty() && find_key(inner_row) == nullptr
          && closest_name(name, names).empty()) {
        plugin(name, member.value(), inner, names);
        continue;
      }
      // Without anything in it the block has a meaning, too.
      if (inner_row == "client.drain_on_shutdown") into_.client.drain_on_shutdown.wanted = true;
      if (inner_row.starts_with("client.template.function_"))
        into_.client.templates.lists_denied = true;
      if (const Key* key = find_key(inner_row))
        value(*key, member.value(), inner, label);
      else if (names_in(inner_row).empty())
        unknown(inner, name, names);
      else if (!is_block(member.value()))
        note(findings_.errors, inner, "expected a block");
      else
        for (const auto* part : parts_of(member.value()))
          block(*part, inner, inner_row, is_labelled ? name : label);
    }
  }

  /// The block of a plugin in a file. What may stand in its `config` it says itself, later.
  void plugin(const std::string& name,
              const json::value& value,
              const std::string& path,
              const std::vector<std::string_view>& names) {
    if (!is_block(value)) return note(findings_.errors, path, "expected a block");
    auto& block = into_.plugin_blocks[name];
    std::vector<std::string> missing;
    unknown_in(missing, path, name, names);
    block.unknown = missing.front() + " (plugin_dir, where plugins are looked for, is not set)";
    note_locations(block, path);
    for (const auto* part : parts_of(value))
      for (const auto& member : *part) {
        const std::string key{member.key()};
        const auto problem = plugin_key(block, key, member.value());
        if (!problem.empty()) note(findings_.errors, path + '.' + key, problem);
      }
  }

  /// `token = "…"` or `token_file = "/…"` of a plugin's `api` block. Never shows the token.
  static std::string plugin_token(PluginBlock& block,
                                  const std::string& key,
                                  const json::value& value) {
    if (!is_scalar(value)) return key + ": expected a text";
    auto given = as_text(value);
    if (given.empty() || given.find_first_of(" \t\r\n") != std::string::npos)
      return key + ": it has no blanks and is not empty";
    if (key == "token_file" && !given.starts_with('/')) return key + ": expected an absolute path";
    if (key == "token")
      block.token = SecretText{std::move(given)};
    else
      block.token_file = std::move(given);
    return block.token.empty() || block.token_file.empty() ? ""
                                                           : "either token or token_file, not both";
  }

  /// `api { allow = ["read-job"]; namespaces = ["default"] }`, as words of access::Limits; and the
  /// token.
  static std::string plugin_api(PluginBlock& block, const json::value& value) {
    if (!is_block(value)) return "expected a block";
    for (const auto* part : parts_of(value))
      for (const auto& [key, list] : *part) {
        if (key == "token" || key == "token_file") {
          if (auto problem = plugin_token(block, key, list); !problem.empty()) return problem;
          continue;
        }
        if (key != "allow" && key != "namespaces")
          return "unknown key; a plugin's api block has allow, namespaces, token and token_file";
        if (!list.is_array() || !std::ranges::all_of(list.get_array(), is_scalar))
          return std::string{key} + ": expected a list of texts";
        for (const auto& item : list.get_array()) {
          const auto word = (key == "allow" ? "" : "namespace:") + as_text(item);
          if (word.find_first_of(" \t\n") != std::string::npos
              || (key == "allow" && word.find(':') != std::string::npos))
            return "\"" + as_text(item) + "\" is no name";
          if (const auto known = access::Limits::read(word); !known)
            return "allow: " + known.error().what;
          block.api += (block.api.empty() ? "" : " ") + word;
        }
      }
    return {};
  }

  static std::string plugin_key(PluginBlock& block,
                                const std::string& key,
                                const json::value& value) {
    if (key == "isolated" || key == "confined") {
      const auto given = to_boolean(as_text(value));
      if (given) (key == "isolated" ? block.isolated : block.confined) = *given;
      return given ? "" : "expected true or false";
    }
    if (key == "args" || key == "paths") {
      if (!value.is_array() || !std::ranges::all_of(value.get_array(), is_scalar))
        return "expected a list of texts";
      auto& list = key == "args" ? block.args : block.paths;
      for (const auto& item : value.get_array())
        list.push_back(as_text(item));
      const auto is_absolute = [](const std::string& path) { return path.starts_with('/'); };
      if (!std::ranges::all_of(block.paths, is_absolute)) return "expected absolute paths";
      return {};
    }
    if (key == "api") return plugin_api(block, value);
    if (key == "user") {
      if (!is_scalar(value)) return "expected a text";
      block.user = as_text(value);
      return {};
    }
    if (key != "config")
      return "unknown key; a plugin's block has api, args, config, confined, isolated, paths and "
             "user";
    if (!is_block(value)) return "expected a block";
    json::object merged;
    for (const auto* part : parts_of(value))
      for (const auto& each : *part)
        merged[each.key()] = each.value();
    block.config = json::serialize(merged);
    return {};
  }

  /// Where the keys of its configuration stand, for mistakes that are found later.
  void note_locations(PluginBlock& block, const std::string& path) const {
    const auto inner = path + ".config.";
    const auto location = [this](int line) { return fmt::format("{}:{}", file_, line); };
    for (const auto& [key, line] : from_.lines) {
      if (key == path) block.locations[""] = location(static_cast<int>(line));
      if (key.starts_with(inner))
        block.locations[key.substr(inner.size())] = location(static_cast<int>(line));
    }
  }

  void value(const Key& key,
             const json::value& value,
             const std::string& path,
             const std::string& label) {
    const auto problem = ValueReader{key, label, into_}.read(value);
    if (!problem.empty()) return note(findings_.errors, path, problem);
    const bool is_refused = key.state == KeyState::refused;
    if ((!is_refused && key.state != KeyState::unheeded) || is_idle(key, value)) return;
    if (is_refused)
      note(findings_.errors, path, fmt::format("not supported yet: {}", key.note));
    else
      note(findings_.warnings, path, fmt::format("has no effect yet: {}", key.note));
  }

  void unknown(const std::string& path,
               const std::string& name,
               const std::vector<std::string_view>& names) {
    unknown_in(findings_.errors, path, name, names);
  }

  void unknown_in(std::vector<std::string>& to,
                  const std::string& path,
                  const std::string& name,
                  const std::vector<std::string_view>& names) const {
    const auto near = closest_name(name, names);
    note(to, path,
         near.empty() ? std::string{"unknown key"}
                      : fmt::format("unknown key; did you mean \"{}\"?", near));
  }

  void note(std::vector<std::string>& to, const std::string& path, std::string_view what) const {
    const auto line = from_.lines.find(path);
    to.push_back(line == from_.lines.end()
                     ? fmt::format("{}: {}: {}", file_, path, what)
                     : fmt::format("{}:{}: {}: {}", file_, line->second, path, what));
  }

  const std::string& file_;
  const ConfigTree& from_;
  AgentConfig& into_;
  Findings findings_;
};

}  // namespace

Findings read_keys(const std::string& file, const ConfigTree& from, AgentConfig& into) {
  return KeyReader{file, from, into}.take();
}

}  // namespace nomad::config
