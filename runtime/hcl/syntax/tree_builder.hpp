// TreeBuilder: puts a parsed tree into its file, whose arena holds the nodes; for both syntaxes.
#pragma once

#include "runtime/hcl/syntax/arena.hpp"
#include "runtime/hcl/syntax/ast.hpp"

namespace nomad::hcl {

/// Makes nodes in a file's arena.
class TreeBuilder {
public:
  explicit TreeBuilder(File& file) : file_{file}, arena_{*file.arena_} {}

  void set_body(const BodyNode* body) { file_.body_ = body; }

  void set_expression(const Expression* expression) { file_.expression_ = expression; }

  void set_json(const JsonNode* json) { file_.json_ = json; }

  const File* file() const { return &file_; }

  Arena& arena() { return arena_; }

private:
  File& file_;
  Arena& arena_;
};

}  // namespace nomad::hcl
