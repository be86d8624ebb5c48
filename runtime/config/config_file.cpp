#include "runtime/config/config_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/config/agent_config.hpp"
#include "runtime/config/hcl1.hpp"
#include "runtime/config/section.hpp"
#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/syntax/parser.hpp"

namespace nomad::config {
namespace {

boost::json::value to_tree(const hcl::Value& value) {
  if (value.is_bool()) return value.as_bool();
  if (value.is_string()) {
    const auto text = value.as_string();
    return boost::json::string{text.data(), text.size()};
  }
  if (value.is_number()) {
    if (auto whole = value.as_number().to_int64()) return *whole;
    return value.as_number().to_double();
  }
  if (value.is_sequence()) {
    boost::json::array list;
    for (const auto& element : value.elements())
      list.push_back(to_tree(element));
    return list;
  }
  if (value.is_mapping()) {
    boost::json::object map;
    for (const auto& [key, content] : value.entries())
      map[key] = to_tree(content);
    return map;
  }
  return nullptr;
}

boost::json::object to_tree(const hcl::BodyNode& body, hcl::Diagnostics& problems) {
  boost::json::object tree;
  for (const auto& attribute : body.attributes) {
    auto evaluated = hcl::evaluate(*attribute.expr, nullptr);
    tree[boost::json::string_view{attribute.name.data(), attribute.name.size()}]
        = to_tree(evaluated.value);
    hcl::append(problems, std::move(evaluated.diagnostics));
  }
  for (const auto* block : body.blocks) {
    boost::json::object content = to_tree(*block->body, problems);
    for (auto label = block->labels.rbegin(); label != block->labels.rend(); ++label) {
      boost::json::object outer;
      outer[boost::json::string_view{label->data(), label->size()}] = std::move(content);
      content = std::move(outer);
    }
    boost::json::object whole;
    whole[boost::json::string_view{block->type.data(), block->type.size()}] = std::move(content);
    merge_trees(tree, whole);
  }
  return tree;
}

Result<boost::json::object> parse_json_text(const std::string& file, const std::string& text) {
  boost::json::error_code failure;
  auto tree = boost::json::parse(text, failure);
  if (failure) return Error{Errc::invalid_argument, fmt::format("{}: {}", file, failure.message())};
  if (!tree.is_object())
    return Error{Errc::invalid_argument, fmt::format("{}: expected an object", file)};
  return tree.get_object();
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file)
    return Error{Errc::io, fmt::format("Error loading configuration from {}: {}", path,
                                       std::generic_category().message(errno))};
  return text.str();
}

}  // namespace

Result<boost::json::object> parse_config_text(const std::string& file, std::string text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return parse_json_text(file, text);
  auto parsed = hcl::parse(file, text);
  if (!parsed.ok())
    if (auto older = parse_hcl1(file, text)) return older;
  auto problems = std::move(parsed.diagnostics);
  boost::json::object tree;
  if (!hcl::has_errors(problems)) tree = to_tree(*parsed.file->body(), problems);
  if (hcl::has_errors(problems)) return Error{Errc::invalid_argument, hcl::all_lines(problems)};
  return tree;
}

Result<AgentConfig> with_path(AgentConfig base, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  std::vector<std::string> files{path};
  if (fs::is_directory(path, failure)) {
    files.clear();
    for (const auto& entry : fs::directory_iterator{path, failure})
      if (entry.path().extension() == ".hcl" || entry.path().extension() == ".json")
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  }
  for (const auto& file : files) {
    auto text = read_text(file);
    if (!text) return text.error();
    auto changed = with_file_text(std::move(base), file, std::move(*text));
    if (!changed) return changed.error();
    base = std::move(*changed);
  }
  return base;
}

}  // namespace nomad::config
