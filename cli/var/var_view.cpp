#include "cli/var/var_view.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>

#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/output/layout.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

std::string json_text(std::string_view text) {
  return boost::json::serialize(boost::json::string{text.data(), text.size()});
}

/// A text as HCL quotes it.
std::string hcl_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
      case '\\':
        out += '\\';
        out += c;
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += c;
    }
  }
  return out + '"';
}

}  // namespace

bool on_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

std::string variable_table(const View& variable) {
  const auto created = variable["CreateTime"].number();
  const auto modified = variable["ModifyTime"].number();
  Pairs meta{{"Namespace", variable["Namespace"].text()},
             {"Path", variable["Path"].text()},
             {"Create Time", clock_time(created)}};
  if (created != modified) meta.emplace_back("Modify Time", clock_time(modified));
  meta.emplace_back("Check Index", variable["ModifyIndex"].text());
  Pairs items;
  for (const auto& [key, value] : variable["Items"].members())
    items.emplace_back(key, value.text());
  return pairs(meta) + "\n\n" + title("Items") + '\n' + pairs_of_lines(items);
}

std::string variable_json(const View& variable) {
  std::string out = "{\n";
  for (const auto* name : {"Namespace", "Path"})
    out += fmt::format("  \"{}\": {},\n", name, json_text(variable[name].text()));
  for (const auto* name : {"CreateIndex", "ModifyIndex", "CreateTime", "ModifyTime"})
    out += fmt::format("  \"{}\": {},\n", name, variable[name].number());
  const auto items = variable["Items"].members();
  out += "  \"Items\": {";
  for (std::size_t i = 0; i < items.size(); ++i)
    out += fmt::format("{}\n    {}: {}", i == 0 ? "" : ",", json_text(items[i].first),
                       json_text(items[i].second.text()));
  return out + (items.empty() ? "}\n}" : "\n  }\n}");
}

std::string variable_hcl(const View& variable) {
  const auto items = variable["Items"].members();
  std::size_t width = 0;
  for (const auto& item : items)
    width = std::max(width, item.first.size());
  auto out = fmt::format(
      "\nnamespace    = \"{}\"\npath         = \"{}\"\ncreate_index = {}  # Set by server\n"
      "modify_index = {}  # Set by server; consulted for check-and-set\n"
      "create_time  = {}   # Set by server\nmodify_time  = {}   # Set by server\n\nitems = {{\n",
      variable["Namespace"].text(), variable["Path"].text(), variable["CreateIndex"].number(),
      variable["ModifyIndex"].number(), variable["CreateTime"].number(),
      variable["ModifyTime"].number());
  for (const auto& [key, value] : items)
    out += fmt::format("  {:>{}} = {}\n", key, width, hcl_quoted(value.text()));
  return out + "}\n";
}

std::string wrapped(std::string_view paragraph, std::size_t width, std::string_view indent) {
  const auto limit = width - indent.size();
  std::string out{indent};
  std::string spaces;
  std::string word;
  std::size_t column = 0;
  const auto end_word = [&] {
    if (word.empty()) return;
    out += spaces + word;
    column += spaces.size() + word.size();
    spaces.clear();
    word.clear();
  };
  for (const char c : paragraph) {
    if (c == ' ') {
      end_word();
      spaces += c;
    } else if (c == '-') {
      column += spaces.size();
      out += spaces;
      spaces.clear();
      end_word();
      out += c;
    } else {
      word += c;
      if (column + spaces.size() + word.size() <= limit || word.size() >= limit) continue;
      out += '\n';
      out += indent;
      column = 0;
      spaces.clear();
    }
  }
  end_word();
  return out;
}

Result<std::optional<std::uint64_t>> parse_check_index(const std::string& text) {
  if (text.empty()) return std::optional<std::uint64_t>{};
  std::uint64_t index = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool is_number = end == text.data() + text.size() && failure != std::errc::invalid_argument;
  if (is_number && failure == std::errc{}) return std::optional{index};
  return Error{is_number ? Errc::too_large : Errc::invalid_argument,
               fmt::format("strconv.ParseUint: parsing {}: {}", quote(text),
                           is_number ? "value out of range" : "invalid syntax")};
}

std::optional<int> explain_conflict(const net::ClientResponse& response,
                                    std::optional<std::uint64_t> check_index) {
  if (response.status != 409) return std::nullopt;
  if (!check_index) {
    std::cerr
        << "\nVariable is locked\n\n    Whoever holds its lock may change it, and others when "
           "the lock has been released.\n\n";
    return 1;
  }
  const auto stored = parse_json(response.body);
  if (!stored) return std::nullopt;
  const View view{*stored};
  const auto index = view["ModifyIndex"].number();
  const auto updated = index == 0 ? std::string{}
                                  : fmt::format("The server-side item was last updated on {}.",
                                                clock_time(view["ModifyTime"].number()));
  const auto text = fmt::format(
      "Your provided check-index ({}) does not match the server-side index ({}). {} If you are "
      "sure you want to perform this operation, add the -force or -check-index={} flag before the "
      "positional arguments.",
      *check_index, index, updated, index);
  std::cerr << "\nCheck-and-Set conflict\n\n" << wrapped(text, 80, "    ") << "\n\n";
  return 1;
}

std::string variable_path(std::string_view path) {
  std::string out = "/v1/var/";
  for (std::size_t begin = 0;;) {
    const auto end = path.find('/', begin);
    out += percent_encode(path.substr(begin, end - begin));
    if (end == std::string_view::npos) return out;
    out += '/';
    begin = end + 1;
  }
}

}  // namespace nomad::cli
