#include "cli/did_you_mean.hpp"

#include <fmt/format.h>

#include "cli/output/layout.hpp"
#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

Result<Answer> list_of(Api& api, const std::string& list_path) {
  return api.get(list_path, {{"per_page", std::to_string(most_compared_names)}});
}

}  // namespace

std::string meant_among(std::string_view given, const std::vector<std::string>& names) {
  const auto near = closest_word(given, {names.begin(), names.end()});
  return near.empty() || near == given ? std::string{}
                                       : fmt::format("; did you mean {}?", quote(near));
}

std::string meant_of_list(Api& api,
                          const std::string& list_path,
                          std::string_view given,
                          std::string_view member) {
  const auto list = list_of(api, list_path);
  if (!list) return {};
  std::vector<std::string> names;
  for (const auto& object : list->view().items())
    names.push_back(object[member].text());
  return meant_among(given, names);
}

std::string meant_node(Api& api, std::string_view given) {
  const auto list = list_of(api, "/v1/nodes");
  if (!list) return {};
  std::vector<std::string> names;
  std::vector<std::string> ids;
  for (const auto& node : list->view().items()) {
    const auto name = node["Name"].text();
    const auto id = shown_id(node["ID"].text(), false);
    if (name == given) return fmt::format("; did you mean {}, the id of that node?", quote(id));
    names.push_back(name);
    ids.push_back(id);
  }
  const auto near = closest_word(given, {names.begin(), names.end()});
  for (std::size_t i = 0; i < names.size() && !near.empty(); ++i)
    if (names[i] == near)
      return fmt::format("; did you mean {}, the id of node {}?", quote(ids[i]), quote(near));
  return meant_among(given, ids);
}

Error with_meant(Api& api,
                 Error failed,
                 const std::string& list_path,
                 std::string_view given,
                 std::string_view member) {
  if (failed.code != Errc::not_found) return failed;
  failed.what += meant_of_list(api, list_path, given, member);
  return failed;
}

}  // namespace nomad::cli
