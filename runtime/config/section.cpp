#include "runtime/config/section.hpp"

#include <charconv>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/hcl/syntax/diagnostic.hpp"

namespace nomad::config {
namespace {

std::string_view text_of(const boost::json::value& value) {
  const auto& text = value.get_string();
  return {text.data(), text.size()};
}

std::string as_text(const boost::json::value& value) {
  if (value.is_string()) return std::string{text_of(value)};
  return boost::json::serialize(value);
}

template <class Number>
bool to_number(std::string_view text, Number& target) {
  const auto* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, target);
  return failure == std::errc{} && stop == end;
}

}  // namespace

boost::json::object as_block(const boost::json::value& value) {
  if (value.is_object()) return value.get_object();
  boost::json::object merged;
  if (value.is_array())
    for (const auto& part : value.get_array())
      for (const auto& member : as_block(part))
        merged[member.key()] = member.value();
  return merged;
}

Section::Section(std::string path, boost::json::object tree, std::vector<std::string>& errors)
    : path_{std::move(path)}, tree_{std::move(tree)}, errors_{errors} {}

const boost::json::value* Section::take(std::string_view key) {
  known_.emplace(key);
  return tree_.if_contains({key.data(), key.size()});
}

std::string Section::place(std::string_view key) const {
  return path_.empty() ? std::string{key} : path_ + '.' + std::string{key};
}

void Section::complain(std::string_view key, std::string_view problem) {
  errors_.push_back(fmt::format("{}: {}", place(key), problem));
}

void Section::text(std::string_view key, std::string& target) {
  if (const auto* value = take(key)) {
    if (value->is_object() || value->is_array())
      complain(key, "expected a text");
    else
      target = as_text(*value);
  }
}

void Section::boolean(std::string_view key, bool& target) {
  const auto* value = take(key);
  if (value == nullptr) return;
  const auto written = as_text(*value);
  if (written == "true" || written == "1")
    target = true;
  else if (written == "false" || written == "0")
    target = false;
  else
    complain(key, "expected true or false");
}

void Section::integer(std::string_view key, std::int64_t& target) {
  const auto* value = take(key);
  if (value != nullptr && !to_number(as_text(*value), target))
    complain(key, "expected a whole number");
}

void Section::real(std::string_view key, double& target) {
  const auto* value = take(key);
  if (value != nullptr && !to_number(as_text(*value), target)) complain(key, "expected a number");
}

void Section::duration(std::string_view key, Nanoseconds& target) {
  const auto* value = take(key);
  if (value == nullptr) return;
  auto parsed = parse_duration(as_text(*value));
  if (parsed)
    target = *parsed;
  else
    complain(key, parsed.error().what);
}

void Section::list(std::string_view key, std::vector<std::string>& target) {
  const auto* value = take(key);
  if (value == nullptr) return;
  if (!value->is_array()) return complain(key, "expected a list of texts");
  for (const auto& item : value->get_array())
    target.push_back(as_text(item));
}

void Section::map(std::string_view key, std::map<std::string, std::string>& target) {
  const auto* value = take(key);
  if (value == nullptr) return;
  if (!value->is_object() && !value->is_array()) return complain(key, "expected a block");
  for (const auto& member : as_block(*value))
    target[std::string{member.key()}] = as_text(member.value());
}

void Section::section(std::string_view key, const std::function<void(Section&)>& read) {
  const auto* value = take(key);
  if (value == nullptr) return;
  if (!value->is_object() && !value->is_array()) return complain(key, "expected a block");
  Section inner{place(key), as_block(*value), errors_};
  read(inner);
  inner.finish();
}

void Section::labelled(std::string_view key,
                       const std::function<void(const std::string& label, Section&)>& read) {
  const auto* value = take(key);
  if (value == nullptr) return;
  if (!value->is_object() && !value->is_array()) return complain(key, "expected a block");
  for (const auto& member : as_block(*value)) {
    const std::string label{member.key()};
    Section inner{place(key) + " \"" + label + '"', as_block(member.value()), errors_};
    read(label, inner);
    inner.finish();
  }
}

void Section::raw(std::string_view key, std::string& json) {
  if (const auto* value = take(key)) json = boost::json::serialize(as_block(*value));
}

void Section::accept(std::initializer_list<std::string_view> keys) {
  for (auto key : keys)
    known_.emplace(key);
}

void Section::finish() {
  std::vector<std::string_view> candidates{known_.begin(), known_.end()};
  for (const auto& member : tree_) {
    const std::string key{member.key()};
    if (known_.contains(key)) continue;
    const auto near = hcl::closest_name(key, candidates);
    complain(key, near.empty() ? std::string{"unknown key"}
                               : fmt::format("unknown key; did you mean \"{}\"?", near));
  }
}

}  // namespace nomad::config
