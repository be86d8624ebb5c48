#include "cli/output/json_view.hpp"

#include <algorithm>

#include <boost/json.hpp>

namespace nomad::cli {

View View::operator[](std::string_view name) const {
  if (value_ == nullptr || !value_->is_object()) return {};
  const auto* member = value_->get_object().if_contains({name.data(), name.size()});
  return member == nullptr ? View{} : View{*member};
}

bool View::is_null() const {
  return value_ == nullptr || value_->is_null();
}

std::string View::text() const {
  if (is_null()) return "";
  if (value_->is_string()) return {value_->get_string().data(), value_->get_string().size()};
  return boost::json::serialize(*value_);
}

std::int64_t View::number() const {
  if (is_null() || !value_->is_number()) return 0;
  if (value_->is_double()) return static_cast<std::int64_t>(value_->get_double());
  if (value_->is_uint64()) return static_cast<std::int64_t>(value_->get_uint64());
  return value_->get_int64();
}

double View::real() const {
  return is_null() || !value_->is_number() ? 0 : value_->to_number<double>();
}

bool View::truth() const {
  return !is_null() && value_->is_bool() && value_->get_bool();
}

std::vector<View> View::items() const {
  std::vector<View> all;
  if (value_ != nullptr && value_->is_array())
    for (const auto& item : value_->get_array())
      all.emplace_back(item);
  return all;
}

std::vector<std::pair<std::string, View>> View::members() const {
  std::vector<std::pair<std::string, View>> all;
  if (value_ != nullptr && value_->is_object())
    for (const auto& member : value_->get_object())
      all.emplace_back(std::string{member.key()}, View{member.value()});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

}  // namespace nomad::cli
