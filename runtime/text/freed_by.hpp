// FreedBy: a std::unique_ptr to what a C library made, freed by that library's function.
#pragma once

#include <memory>

namespace nomad {

template <auto free>
struct FreesBy {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};

template <class T, auto free>
using FreedBy = std::unique_ptr<T, FreesBy<free>>;

}  // namespace nomad
