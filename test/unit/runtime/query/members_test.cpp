// fields=: which members of a row are left.
#include "runtime/query/members.hpp"

#include <doctest/doctest.h>

using nomad::query::Members;

namespace {

std::string left_of(const std::string& object, std::string_view names) {
  std::string text = "[" + object;
  Members{names}.keep(text, 1);
  return text.substr(1);
}

const std::string row = R"({"ID":"a","Name":"x\"},y","Tasks":{"ID":[1,{"ID":"}"}]},"N":-1.5e3,)"
                        R"("None":null,"List":["]",{}],"Last":true})";

}  // namespace

TEST_CASE("members: those that are named, in the order of the row") {
  CHECK(left_of(row, "Last,ID") == R"({"ID":"a","Last":true})");
  CHECK(left_of(row, "Name") == R"({"Name":"x\"},y"})");
  CHECK(left_of(row, "Tasks,N") == R"({"Tasks":{"ID":[1,{"ID":"}"}]},"N":-1.5e3})");
  CHECK(left_of(row, "None,List") == R"({"None":null,"List":["]",{}]})");
}

TEST_CASE("members: all without a name, none of those that are not there") {
  CHECK(left_of(row, "") == row);
  CHECK(left_of(row, ",,") == row);
  CHECK(left_of(row, "id,Na,Names") == "{}");
  CHECK(left_of("{}", "ID") == "{}");
  CHECK(left_of("null", "ID") == "null");
}

TEST_CASE("members: what stands before the row stays") {
  std::string text = R"([{"ID":1,"B":2},{"ID":3,"B":4})";
  Members{"B"}.keep(text, 16);
  CHECK(text == R"([{"ID":1,"B":2},{"B":4})");
}
