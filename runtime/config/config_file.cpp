#include "runtime/config/config_file.hpp"

#include <algorithm>
#include <filesystem>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/config/agent_config.hpp"
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

/// Makes the tree of a file in HCL.
class TreeBuilder {
public:
  TreeBuilder(const hcl::Source& source, std::string_view listed)
      : source_{source}, listed_{listed} {}

  boost::json::object build(const hcl::BodyNode& body, const std::string& path) {
    boost::json::object tree;
    for (const auto& attribute : body.attributes) {
      auto evaluated = hcl::evaluate(*attribute.expr, nullptr);
      note_line(path, attribute.name, attribute.name_span);
      tree[boost::json::string_view{attribute.name.data(), attribute.name.size()}]
          = to_tree(evaluated.value);
      hcl::append(problems, std::move(evaluated.diagnostics));
    }
    for (const auto* block : body.blocks) {
      auto inner = note_line(path, block->type, block->type_span);
      for (const auto label : block->labels)
        inner = note_line(inner, label, block->type_span);
      boost::json::object content = build(*block->body, inner);
      for (auto label = block->labels.rbegin(); label != block->labels.rend(); ++label)
        content = wrapped(*label, std::move(content));
      if (block->type == listed_)
        append_to(tree, block->type, std::move(content));
      else
        merge_trees(tree, wrapped(block->type, std::move(content)));
    }
    return tree;
  }

  KeyLines lines;
  hcl::Diagnostics problems;

private:
  static void append_to(boost::json::object& tree,
                        std::string_view name,
                        boost::json::object content) {
    auto& list = tree[boost::json::string_view{name.data(), name.size()}];
    if (!list.is_array()) list.emplace_array();
    list.get_array().emplace_back(std::move(content));
  }

  static boost::json::object wrapped(std::string_view name, boost::json::object content) {
    boost::json::object outer;
    outer[boost::json::string_view{name.data(), name.size()}] = std::move(content);
    return outer;
  }

  /// The path of `name` in the block `path`.
  std::string note_line(const std::string& path, std::string_view name, hcl::Span span) {
    auto inner = path.empty() ? std::string{name} : fmt::format("{}.{}", path, name);
    lines.emplace(inner, source_.position(span.begin).line);
    return inner;
  }

  const hcl::Source& source_;
  std::string_view listed_;
};

Result<ConfigTree> parse_json_text(const std::string& file, const std::string& text) {
  boost::json::error_code failure;
  auto tree = boost::json::parse(text, failure);
  if (failure) return Error{Errc::invalid_argument, fmt::format("{}: {}", file, failure.message())};
  if (!tree.is_object())
    return Error{Errc::invalid_argument, fmt::format("{}: expected an object", file)};
  return ConfigTree{tree.get_object()};
}

Error not_loaded(const Error& why) {
  return {Errc::io, "Error loading configuration from " + why.what};
}

Result<std::string> read_text(const std::string& path) {
  auto text = read_whole_file(path);
  if (!text) return not_loaded(text.error());
  return text;
}

}  // namespace

void merge_trees(boost::json::object& target, const boost::json::object& addition) {
  for (const auto& member : addition) {
    auto* present = target.if_contains(member.key());
    if (present != nullptr && present->is_object() && member.value().is_object())
      merge_trees(present->get_object(), member.value().get_object());
    else
      target[member.key()] = member.value();
  }
}

Result<ConfigTree> parse_config_text(const std::string& file,
                                     std::string text,
                                     std::string_view listed) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return parse_json_text(file, text);
  auto parsed = hcl::parse(file, text);
  // What is both means the same in both; the mistakes of what is neither are HCL2's.
  if (!parsed.ok())
    if (auto older = hcl::parse_hcl1(file, text); older.ok()) parsed = std::move(older);
  auto problems = std::move(parsed.diagnostics);
  ConfigTree made;
  if (!hcl::has_errors(problems)) {
    TreeBuilder builder{parsed.file->source(), listed};
    made = {builder.build(*parsed.file->body(), ""), std::move(builder.lines)};
    problems = std::move(builder.problems);
  }
  if (hcl::has_errors(problems)) return Error{Errc::invalid_argument, hcl::all_lines(problems)};
  return made;
}

Result<AgentConfig> with_path(AgentConfig base, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  std::vector<std::string> files{path};
  if (fs::is_directory(path, failure)) {
    files.clear();
    const auto names = names_in(path);
    if (!names) return not_loaded(names.error());
    for (const auto& name : *names)
      if (name.ends_with(".hcl") || name.ends_with(".json")) files.push_back(fs::path{path} / name);
  }
  for (const auto& file : files) {
    auto text = NOMAD_TRY(read_text(file));
    base = NOMAD_TRY(with_file_text(std::move(base), file, std::move(text)));
  }
  return base;
}

Result<SecretText> token_of(const PluginBlock& plugin) {
  if (plugin.token_file.empty()) return plugin.token;
  auto text = NOMAD_TRY(read_whole_file(plugin.token_file).within("api.token_file"));
  constexpr const char* blanks = " \t\r\n";
  text.erase(text.find_last_not_of(blanks) + 1);
  if (text.empty() || text.find_first_of(blanks) != std::string::npos)
    return Error{Errc::rejected, "api.token_file: no token stands in " + plugin.token_file};
  return SecretText{std::move(text)};
}

}  // namespace nomad::config
