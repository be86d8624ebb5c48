// Draft<T>: a builder for a new object, or for a changed copy of one. No object is ever changed in
// place: thaw it into a draft, change that, freeze it again.
//
// A draft keeps what was overwritten as garbage, and its lists cannot grow: collect in a vector and
// init once. Lives on one thread.
#pragma once

#include <string_view>

#include "runtime/object/object.hpp"

namespace nomad {

/// Text for a builder's setter. `value` is empty or of NUL-terminated bytes (a std::string, a
/// literal, a reader's text), not a part of them.
inline capnp::Text::Reader text(std::string_view value) {
  if (value.empty()) return {"", 0};
  return {value.data(), value.size()};
}

/// A reader's text as a view; valid as long as its object.
inline std::string_view view(capnp::Text::Reader value) {
  return {value.begin(), value.size()};
}

inline std::string copy(capnp::Text::Reader value) {
  return {value.begin(), value.size()};
}

template <class T>
class Draft {
public:
  Draft() : message_{128}, root_{message_.template initRoot<T>()} {}

  explicit Draft(const Object<T>& base) : Draft(base.reader()) {}

  explicit Draft(typename T::Reader base)
      : message_{static_cast<capnp::uint>(base.totalSize().wordCount + 64)}, root_{nullptr} {
    message_.setRoot(base);
    root_ = message_.template getRoot<T>();
  }

  Draft(const Draft&) = delete;

  typename T::Builder& operator*() { return root_; }

  typename T::Builder* operator->() { return &root_; }

  typename T::Reader reader() { return root_.asReader(); }

  Object<T> freeze() { return Object<T>::freeze(root_.asReader()); }

private:
  capnp::MallocMessageBuilder message_;
  typename T::Builder root_;
};

}  // namespace nomad
