#include "cli/kinds/kind_commands.hpp"

#include <algorithm>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/did_you_mean.hpp"
#include "cli/input.hpp"
#include "cli/kinds/specification.hpp"
#include "cli/output/api_shape.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/output.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

/// A column's title: its words apart.
std::string title_of_column(std::string_view column) {
  std::string title;
  for (const char c : column) {
    if (c >= 'A' && c <= 'Z' && !title.empty() && title.back() >= 'a') title += ' ';
    title += c;
  }
  return title;
}

std::string kind_table(const KindWords& words, const std::vector<View>& objects) {
  Rows rows(1);
  for (const auto& column : words.columns)
    rows.front().push_back(title_of_column(column));
  for (const auto& object : objects) {
    auto& row = rows.emplace_back();
    for (const auto& column : words.columns)
      row.push_back(object[column].text());
  }
  return table(rows);
}

std::string joined_noun(const KindWords& words, char between) {
  auto noun = words.noun;
  std::ranges::replace(noun, ' ', between);
  return noun;
}

/// "<node-pool>"
std::string argument_of(const KindWords& words) {
  return '<' + joined_noun(words, '-') + '>';
}

Result<boost::json::object> parse_object(const KindWords& words,
                                         const std::string& path,
                                         std::string text,
                                         bool is_json) {
  if (is_json) return object_of_json(text);
  if (words.of_hcl != nullptr) return words.of_hcl(path, std::move(text));
  return block_of_hcl(joined_noun(words, '_'), path, std::move(text));
}

}  // namespace

PageFlags::PageFlags(Arguments& parser) {
  parser.option("filter", filter, "Only those for which the expression holds.");
  parser.option("page-token", page_token, "Where to go on.");
  parser.option("per-page", per_page, "How many at a time.");
}

Query PageFlags::query() const {
  Query query;
  for (const auto& [name, value] : {std::pair{"filter", filter}, {"next_token", page_token}})
    if (!value.empty()) query.emplace_back(name, value);
  if (per_page != 0) query.emplace_back("per_page", std::to_string(per_page));
  return query;
}

Result<boost::json::value> find_kind(Api& api, const KindWords& words, const std::string& name) {
  const auto list = NOMAD_TRY(
      api.get(words.list_path, {{"prefix", name}}).within("Error retrieving " + words.noun));
  const auto found = list.view().items();
  if (found.empty())
    return mistake(fmt::format("Error retrieving {0}: No {0} with prefix \"{1}\" found{2}",
                               words.noun, name, meant_of_list(api, words.list_path, name)));
  for (const auto& object : found)
    if (found.size() == 1 || object["Name"].text() == name) return *object.raw();
  return mistake(
      fmt::format("Prefix matched multiple {}\n\n{}", words.plural, kind_table(words, found)));
}

Result<int> apply_kind(const KindWords& words, const std::vector<std::string>& arguments) {
  bool is_json = false;
  ApiCommand command{
      words.noun + " apply [options] <input>",
      fmt::format("Creates or changes the {} that a file describes; \"-\": stdin.", words.noun)};
  command.flag("json", is_json, "The file is JSON.");
  if (auto code = command.start(arguments, one_word("<input>"))) return *code;
  const auto& path = command.positional()[0];
  auto text = NOMAD_TRY(read_input(path).within(fmt::format("Failed to read file \"{}\"", path)));
  const auto object = NOMAD_TRY(
      parse_object(words, path, std::move(text), is_json).within("Failed to parse input content"));
  NOMAD_TRY(command.api->put(words.list_path, object).within("Error applying " + words.noun));
  const boost::json::value named = object;
  std::cout << fmt::format("Successfully applied {} \"{}\"!\n", words.noun,
                           View{named}["Name"].text());
  return 0;
}

Result<int> delete_kind(const KindWords& words, const std::vector<std::string>& arguments) {
  ApiCommand command{fmt::format("{} delete [options] {}", words.noun, argument_of(words)),
                     fmt::format("Removes a {} that nothing needs any more.", words.noun)};
  if (auto code = command.start(arguments, one_word(argument_of(words)))) return *code;
  const auto& name = command.positional()[0];
  if (const auto done = command.api->remove(words.path + segment(name)); !done)
    return with_meant(*command.api, done.error().within("Error deleting " + words.noun),
                      words.list_path, name);
  std::cout << fmt::format("Successfully deleted {} \"{}\"!\n", words.noun, name);
  return 0;
}

Result<int> show_kind(const KindWords& words, const std::vector<std::string>& arguments) {
  ApiCommand command{fmt::format("{} info [options] {}", words.noun, argument_of(words)),
                     fmt::format("Shows a {}.", words.noun)};
  OutputFlags output{command};
  if (auto code = command.start(arguments, one_word(argument_of(words)))) return *code;
  const auto found = NOMAD_TRY(find_kind(*command.api, words, command.positional()[0]));
  if (auto code = output.print(as_printed(ApiShape::kind, found))) return *code;
  const View object{found};
  Pairs shown;
  for (const auto& column : words.columns)
    shown.emplace_back(title_of_column(column), object[column].text());
  std::cout << pairs(shown) << '\n';
  if (words.print_more != nullptr) words.print_more(object);
  return 0;
}

Result<int> list_kind(const KindWords& words, const std::vector<std::string>& arguments) {
  ApiCommand command{words.noun + " list [options]", fmt::format("Lists the {}.", words.plural)};
  OutputFlags output{command};
  const PageFlags pages{command};
  if (auto code = command.start(arguments)) return *code;
  const auto answer = NOMAD_TRY(
      command.api->get(words.list_path, pages.query()).within("Error querying " + words.plural));
  if (auto code = output.print(as_printed(ApiShape::kind, answer.body))) return *code;
  std::cout << kind_table(words, answer.view().items()) << '\n';
  command.hint_next_page(answer.next_token);
  return 0;
}

#define KIND(id, noun, plural, ...)                                          \
  Result<int> run_##id##_apply(const std::vector<std::string>& arguments) {  \
    return apply_kind(__VA_ARGS__, arguments);                               \
  }                                                                          \
  Result<int> run_##id##_delete(const std::vector<std::string>& arguments) { \
    return delete_kind(__VA_ARGS__, arguments);                              \
  }                                                                          \
  Result<int> run_##id##_info(const std::vector<std::string>& arguments) {   \
    return show_kind(__VA_ARGS__, arguments);                                \
  }                                                                          \
  Result<int> run_##id##_list(const std::vector<std::string>& arguments) {   \
    return list_kind(__VA_ARGS__, arguments);                                \
  }
#include "cli/commands.def"

}  // namespace nomad::cli
