#include "runtime/audit/verify.hpp"

#include <utility>

#include <fmt/format.h>

namespace nomad::audit {

void Verifier::begin_file(std::string name) {
  file_ = std::move(name);
  line_ = 0;
  rest_.clear();
  is_too_long_ = false;
}

void Verifier::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto piece = bytes.substr(0, end);
    is_too_long_ = is_too_long_ || rest_.size() + piece.size() > longest_line;
    if (!is_too_long_) rest_ += piece;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    ++line_;
    if (std::exchange(is_too_long_, false)) {
      ++damaged_;
      find("is longer than any that was written");
    } else {
      take_line(rest_);
    }
    rest_.clear();
  }
}

void Verifier::end_file() {
  if (rest_.empty() && !is_too_long_) return;
  ++line_;
  find("is torn: it has no end");
  rest_.clear();
}

void Verifier::find(std::string what) {
  if (++found_ <= most_findings) findings_.push_back({file_, line_, std::move(what)});
}

/// Whether it may come behind the line before it; if not, that is told.
bool Verifier::follows(const ReadLink& read) {
  if (first_ == 0) return true;  // earlier files may not be given
  const auto number = read.link.number;
  const auto expected = last_.number + 1;
  if (number <= last_.number) {
    find(fmt::format("is number {} behind number {}: lines were swapped, repeated or put in",
                     number, last_.number));
    return false;
  }
  if (number > expected + damaged_) {
    const auto missing = number - expected - damaged_;
    find(missing == 1
             ? fmt::format("is number {}: the line before it is missing", number)
             : fmt::format("is number {}: {} lines before it are missing", number, missing));
    return false;
  }
  if (damaged_ > 0) return true;  // told already, and no hash of theirs is known
  if (read.prev == last_.hash) return true;
  find(fmt::format("is number {} and does not follow the line before it, which was replaced",
                   number));
  return false;
}

void Verifier::take_line(std::string_view line) {
  const auto read = read_link(line);
  if (!read) {
    ++damaged_;
    return find("was changed after it was written: it has no links");
  }
  if (!read->is_whole)
    find(fmt::format("is number {} and was changed after it was written", read->link.number));
  if (follows(*read) && read->is_whole) ++good_;
  if (first_ == 0) first_ = read->link.number;
  if (first_ > read->link.number) first_ = read->link.number;
  damaged_ = 0;
  has_expected_ = has_expected_ || (read->is_whole && read->link.hash == expected_);
  last_ = read->link;
}

std::optional<std::uint64_t> first_number_in(std::string_view beginning) {
  while (!beginning.empty()) {
    const auto end = beginning.find('\n');
    if (const auto read = read_link(beginning.substr(0, end))) return read->link.number;
    if (end == std::string_view::npos) return {};
    beginning.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace nomad::audit
