#include "cli/output/diff.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/output/layout.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

/// The marker of a change, four columns wide, and its width without colour.
std::string marker(const View& change) {
  const auto type = change["Type"].text();
  if (type == "Added") return colored("+", "green") + "   ";
  if (type == "Deleted") return colored("-", "red") + "   ";
  if (type == "Edited") return colored("+/-", "yellow") + " ";
  return "";
}

std::size_t marker_width(const View& change) {
  const auto type = change["Type"].text();
  return type == "Added" || type == "Deleted" ? 2 : type == "Edited" ? 4 : 0;
}

std::string short_marker(const View& change) {
  auto text = marker(change);
  while (text.ends_with("  "))
    text.pop_back();
  return text;
}

std::string annotated(const View& annotations) {
  std::vector<std::string> all;
  for (const auto& note : annotations.items()) {
    const auto text = note.text();
    all.push_back(colored(text, text == "forces create"    ? "green"
                                : text == "forces destroy" ? "red"
                                                           : "blue"));
  }
  return all.empty() ? "" : " (" + join(all, ", ") + ")";
}

std::size_t longest_name(const std::vector<View>& fields, const std::vector<View>& objects) {
  std::size_t longest = 0;
  for (const auto& field : fields)
    longest = std::max(longest, field["Name"].text().size());
  for (const auto& object : objects)
    longest = std::max(longest, object["Name"].text().size());
  return longest;
}

std::size_t longest_marker(const std::vector<View>& fields, const std::vector<View>& objects) {
  std::size_t longest = 0;
  for (const auto& field : fields)
    longest = std::max(longest, marker_width(field));
  for (const auto& object : objects)
    longest = std::max(longest, marker_width(object));
  return longest;
}

std::string field_line(const View& field,
                       std::size_t indent,
                       std::size_t value_column,
                       std::size_t marker_column) {
  const auto name = field["Name"].text();
  std::string text(indent, ' ');
  text += short_marker(field);
  text.append(marker_column - marker_width(field), ' ');
  text += name + ":";
  text.append(value_column > name.size() ? value_column - name.size() : 0, ' ');
  const auto type = field["Type"].text();
  if (type == "Added")
    text += fmt::format(" \"{}\"", field["New"].text());
  else if (type == "Deleted")
    text += fmt::format(" \"{}\"", field["Old"].text());
  else if (type == "Edited")
    text += fmt::format(" \"{}\" => \"{}\"", field["Old"].text(), field["New"].text());
  else
    text += fmt::format(" \"{}\"", field["New"].text());
  return text + annotated(field["Annotations"]);
}

std::string parts(const View& diff, std::size_t indent);

std::string object_block(const View& object, std::size_t indent, std::size_t marker_column) {
  std::string text(indent, ' ');
  text += short_marker(object);
  const auto padding = marker_column - marker_width(object);
  text.append(padding, ' ');
  text += object["Name"].text() + " {\n";
  text += parts(object, indent + padding + 2);
  return text + std::string(indent + marker_column, ' ') + "}\n";
}

/// The fields and objects below something, each on its lines.
std::string parts(const View& diff, std::size_t indent) {
  const auto fields = diff["Fields"].items();
  const auto objects = diff["Objects"].items();
  const auto name_width = longest_name(fields, objects);
  const auto marker_column = longest_marker(fields, objects);
  std::string text;
  for (const auto& field : fields)
    text += field_line(field, indent, name_width, marker_column) + '\n';
  for (const auto& object : objects)
    text += object_block(object, indent, marker_column);
  return text;
}

bool shows_contents(const View& diff, bool verbose) {
  const auto type = diff["Type"].text();
  return verbose || type == "Edited" || type == "None";
}

std::string task_diff(const View& task, bool verbose) {
  auto text = fmt::format("  {}Task: \"{}\"{}\n", short_marker(task), task["Name"].text(),
                          annotated(task["Annotations"]));
  if (task["Type"].text() == "None" || !shows_contents(task, verbose)) return text;
  return text + parts(task, 4);
}

std::string group_updates(const View& group) {
  static const std::pair<const char*, const char*> colors[]
      = {{"create", "green"}, {"destroy", "red"}, {"canary", "blue"}};
  std::vector<std::string> all;
  for (const auto& [name, count] : group["Updates"].members()) {
    std::string_view color;
    for (const auto& [known, its_color] : colors)
      if (name == known) color = its_color;
    const auto text = fmt::format("{} {}", count.number(), name);
    all.push_back(color.empty() ? (name == "ignore" ? text : colored(text, "blue"))
                                : colored(text, color));
  }
  return all.empty() ? "" : " (" + join(all, ", ") + ")";
}

std::string group_diff(const View& group, bool verbose) {
  auto text = fmt::format("{}Task Group: \"{}\"{}\n", short_marker(group), group["Name"].text(),
                          group_updates(group));
  if (shows_contents(group, verbose) && group["Type"].text() != "None") text += parts(group, 2);
  for (const auto& task : group["Tasks"].items())
    text += task_diff(task, verbose);
  return text;
}

}  // namespace

std::string job_diff(const View& diff, bool verbose) {
  auto text = fmt::format("{}Job: \"{}\"\n", short_marker(diff), diff["ID"].text());
  if (shows_contents(diff, verbose)) text += parts(diff, 0);
  for (const auto& group : diff["TaskGroups"].items())
    text += group_diff(group, verbose) + '\n';
  return text;
}

}  // namespace nomad::cli
