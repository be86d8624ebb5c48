// Typed: what commands find on stdin, while this lives. It is a pipe, as of `echo … | nomadctl`.
#pragma once

#include <array>
#include <cstdio>
#include <iostream>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <stdio_ext.h>

namespace nomad::test {

class Typed {
public:
  /// No longer than what a pipe takes at once.
  explicit Typed(std::string_view text) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
    stand_in(ends[0]);
  }

  /// That file instead.
  static Typed opened(const char* path) { return Typed{::open(path, O_RDONLY | O_CLOEXEC)}; }

  Typed(const Typed&) = delete;

  ~Typed() {
    if (before_ < 0)
      ::close(STDIN_FILENO);
    else
      stand_in(before_);
  }

private:
  explicit Typed(int fd) { stand_in(fd); }

  /// What was read ahead, or found to be the end, is forgotten.
  static void stand_in(int fd) {
    ::dup2(fd, STDIN_FILENO);
    ::close(fd);
    std::clearerr(stdin);
    __fpurge(stdin);
    std::cin.clear();
  }

  int before_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
};

}  // namespace nomad::test
