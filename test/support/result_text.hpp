// Lets doctest print results and errors, so that `REQUIRE(outcome)` shows why it failed.
#pragma once

#include <doctest/doctest.h>

#include "runtime/base/result.hpp"

namespace doctest {

template <>
struct StringMaker<nomad::Error> {
  static String convert(const nomad::Error& error) {
    return (std::string{nomad::to_string(error.code)} + ": " + error.what).c_str();
  }
};

template <class T>
struct StringMaker<nomad::Result<T>> {
  static String convert(const nomad::Result<T>& outcome) {
    return outcome ? String{"(a value)"} : StringMaker<nomad::Error>::convert(outcome.error());
  }
};

}  // namespace doctest
