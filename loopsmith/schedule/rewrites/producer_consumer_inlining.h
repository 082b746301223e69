// SPDX-License-Identifier: Apache-2.0
// Inlining a consumer into its producer: each consumer instance reads one producer instance.
#pragma once
#include "loopsmith/schedule/rewrites/inline_value.h"

namespace loopsmith {

/// A consumer and its producer.
struct ProducerConsumerPair {
  BlockRV producer;
  BlockRV consumer;
  Ptr<Buffer> buffer;         ///< Written by the producer and read by the consumer alone.
  std::vector<Expr> written;  ///< The indices of the producer, in its axes,
  std::vector<Expr> read;     ///< and of the consumer, in its own.
  ElementValue stored;        ///< What the consumer stores.
  Substitution axes;          ///< The consumer's axes in terms of the producer's.
  std::vector<Expr> guards;   ///< Which producer instances are consumed, in its axes.
};

inline constexpr Condition one_input_is_computed{
    "one_input_is_computed", "block {} reads {} buffers that are computed in its scope, not one",
    "inline the producers of the others first"};
inline constexpr Condition producer_is_alone{
    "producer_is_alone",
    "{} has no single producer block that is a complete block that has only a single consumer",
    "let one complete block write it, and this block alone read it"};
inline constexpr Condition reads_one_element{
    "reads_one_element", "block {} reads {} under several indices, or not by elements",
    "let it read one element of it in each instance"};
inline constexpr ResultChange producer_serves_all{
    LegalityQuestion::cover, false,
    "block {} does not compute each element of {} that block {} reads",
    "let it compute all of them"};
/// Pairs a consumer with its producer: a complete block, or a reduction (`is_reduction`).
Planned<ProducerConsumerPair> pair_with_producer(const Schedule& schedule, BlockRV consumer,
                                                 bool is_reduction);

/// An expression of the consumer in terms of the producer's axes, `value` in the place of what it
/// reads.
Expr in_producer(const ProducerConsumerPair& pair, const Expr& expr, const Expr& value);

/// Puts `body` and `init` into the producer, which stores what the consumer did; takes the consumer
/// and the buffer away.
void merge_into_producer(Schedule& schedule, const ProducerConsumerPair& pair, Stmt body,
                         Stmt init);

}  // namespace loopsmith
