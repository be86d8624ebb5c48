// Capture: what a command prints while this lives.
#pragma once

#include <iostream>
#include <sstream>
#include <string>

namespace nomad::test {

class Capture {
public:
  Capture()
      : out_before_{std::cout.rdbuf(out_.rdbuf())}, err_before_{std::cerr.rdbuf(err_.rdbuf())} {}

  ~Capture() {
    std::cout.rdbuf(out_before_);
    std::cerr.rdbuf(err_before_);
  }

  Capture(const Capture&) = delete;

  std::string out() const { return out_.str(); }

  std::string err() const { return err_.str(); }

private:
  std::ostringstream out_;
  std::ostringstream err_;
  std::streambuf* out_before_;
  std::streambuf* err_before_;
};

}  // namespace nomad::test
