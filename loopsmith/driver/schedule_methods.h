// SPDX-License-Identifier: Apache-2.0
// Made by tools/cpp_schedule.py from the primitives: what a C++ user calls. docs/primitives.md has
// the pages of the primitives, with examples.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/driver/schedule_arguments.h"

namespace loopsmith::tir {

/// The primitives as methods; `Schedule` carries them out.
class ScheduleMethods {
 public:
  /// The block of that name.
  BlockRV get_block(const std::string& name, const std::optional<std::string>& func_name = {});
  /// The loops around a block, outermost first, up to the block around it.
  /// `pattern`: Only loops of such names; * stands for any text, ? for any letter.
  Handles<LoopRV> get_loops(const BlockArgument& block,
                            const std::optional<std::string>& pattern = {});
  /// The loop of that name.
  LoopRV get_loop(const std::string& name, const std::optional<std::string>& func_name = {});
  /// The blocks inside a block or loop, without those inside them.
  Handles<BlockRV> get_child_blocks(const BlockOrLoopArgument& block_or_loop);
  /// The loops inside a block or loop, without those inside them or inside other blocks.
  /// `block_or_loop`: Where they are; None: in a function, outside of all loops.
  /// `func_name`: Which function, for None.
  Handles<LoopRV> get_child_loops(const std::optional<BlockOrLoopArgument>& block_or_loop = {},
                                  const std::optional<std::string>& func_name = {});
  /// The blocks before a block, in its scope, that write what it reads or writes.
  Handles<BlockRV> get_producers(const BlockArgument& block);
  /// The blocks after a block, in its scope, that read or write what it writes.
  Handles<BlockRV> get_consumers(const BlockArgument& block);
  /// The blocks of a scope, also those inside others, that write what it does not allocate.
  Handles<BlockRV> get_output_blocks(const BlockArgument& scope_block);
  /// Splits a loop into nested loops.
  /// `factors`: The extents, outermost first: numbers, or integer expressions of the function's
  /// sizes, which count as 1 where they are less; at most one is to be inferred: None, or -1.
  /// `names`: Of the new loops.
  /// `preserve_unit_iters`: Whether loops of extent 1 stay in the bindings of blocks.
  /// `disable_predication`: Leaves out the guard; what runs beyond the old extent is then your
  /// responsibility.
  Handles<LoopRV> split(const LoopArgument& loop, const std::vector<SplitFactor>& factors,
                        const std::optional<std::vector<std::string>>& names = {},
                        bool preserve_unit_iters = true, bool disable_predication = false);
  /// Makes one loop of nested ones. Of bounds that read an outer loop the new loop goes through all
  /// values, and a guard leaves out what the old loops did. `loops`: Outermost first.
  /// `preserve_unit_iters`: Whether the place in loops of extent 1 stays in the bindings of blocks.
  /// `name`: Of the new loop.
  /// `wide`: Whether the new loop counts in 64 bits, as there may be more iterations than the type
  /// of the loops has numbers.
  LoopRV fuse(const std::vector<LoopArgument>& loops, bool preserve_unit_iters = true,
              const std::optional<std::string>& name = {}, bool wide = false);
  /// Makes one nest of several that follow each other.
  /// `loops`: One of each nest, in their order; loops around them are merged, too.
  /// `assume_independent`: Takes an unknown dependence for none. A known one still refuses.
  LoopRV merge(const std::vector<LoopArgument>& loops, bool assume_independent = false);
  /// Changes the order of nested loops. Guards among them, as `split` makes them, go into the
  /// innermost; bounds that read a loop which comes inside are solved for that loop. `loops`: In
  /// their new order. `assume_independent`: Takes an unknown dependence for none. A known one still
  /// refuses.
  void reorder(const std::vector<LoopArgument>& loops, bool assume_independent = false);
  /// Puts a loop of one iteration around a block or a loop.
  LoopRV add_unit_loop(const BlockOrLoopArgument& block_or_loop);
  /// Runs the iterations of a loop on several threads.
  /// `assume_independent`: Takes an unknown dependence for none. A known one still refuses.
  /// `condition`: On the function's sizes: where it does not hold, the thread that comes to the
  /// loop runs it alone.
  void parallel(const LoopArgument& loop, bool assume_independent = false,
                const std::optional<SizeCondition>& condition = {});
  /// Runs the iterations of a loop in the lanes of vectors.
  /// `assume_independent`: Takes an unknown dependence for none. A known one still refuses.
  void vectorize(const LoopArgument& loop, bool assume_independent = false);
  /// Writes out the iterations of a loop one after another.
  void unroll(const LoopArgument& loop);
  /// Runs the iterations of a loop on threads of a GPU.
  /// `thread_axis`: blockIdx.x, threadIdx.x, vthread, or the like with y and z.
  /// `assume_independent`: Takes an unknown dependence for none. A known one still refuses.
  void bind(const LoopArgument& loop, const std::string& thread_axis,
            bool assume_independent = false);
  /// Cuts a loop into loops that follow each other, each over a part of the iterations.
  /// `factors`: How many iterations each part has; at most one is to be inferred: None, or -1. What
  /// they leave over is a last part. `preserve_unit_iters`: Whether axes stay bound to the loop of
  /// a part of one iteration; else they are bound to its value.
  Handles<LoopRV> loop_partition(const LoopArgument& loop, const std::vector<Factor>& factors,
                                 bool preserve_unit_iters = true);
  /// Makes two versions of a loop: one for where it, and loops inside of it, have so many
  /// iterations or more, one for where they do not. Each has a schedule of its own then. `loops`:
  /// The one that gets two versions first, then loops inside of it. `least`: How many iterations
  /// each of them has at least in the first version. `uneven`: The first version is for rows of
  /// very different lengths alone: some eighth of the first loop has a quarter more to do than
  /// others.
  Handles<LoopRV> version_loop(const std::vector<LoopArgument>& loops,
                               const std::vector<std::int64_t>& least, bool uneven = false);
  /// Takes the first or last iterations of a loop out of it, or those at a value that it has on the
  /// way (index set splitting). What is special in them, as a border or a pivot is, is then decided
  /// outside of the loop. `first`: How many iterations come before the loop. `last`: How many come
  /// after it. `align`: In place of `first`: as many come before the loop as it takes until its
  /// value is a multiple of this number. 0: `first` says it. `align_end`: In place of `last`: as
  /// many come after the loop as it takes until it ends at a multiple of this number. 0: `last`
  /// says it. `at`: The value at which the `first` iterations begin, in place of the loop's start:
  /// a number, an expression of sizes, or the value of a loop around it. What comes before them is
  /// a loop, too.
  Handles<LoopRV> peel(const LoopArgument& loop, std::int64_t first = 1, std::int64_t last = 0,
                       std::int64_t align = 0, std::int64_t align_end = 0,
                       const std::optional<LoopValueArgument>& at = {});
  /// Gives the statements in a loop loops of their own, wherever dependences allow to cut between
  /// them (loop fission). `loop`: With several statements inside; other loops, conditions that read
  /// no memory, and blocks without an init or buffers of their own may be between.
  Handles<LoopRV> distribute(const LoopArgument& loop);
  /// Lets a loop start elsewhere: what it did for `i`, it does for `i + offset`. Loops that are
  /// merged afterwards by `merge_siblings` then run so many iterations apart. `offset`: What is
  /// added to the values of the loop; may be negative.
  void shift(const LoopArgument& loop, std::int64_t offset);
  /// Lets a loop run over its values plus a multiple of a loop around it. After `reorder`, the
  /// iterations of a wavefront are together, and `parallel` may run them concurrently. `inner`: A
  /// loop inside `outer`. `factor`: By how much `inner` starts later for each value of `outer`; may
  /// be negative.
  void skew(const LoopArgument& outer, const LoopArgument& inner, std::int64_t factor = 1);
  /// Moves the `if` around a loop into it; loops of both branches become one.
  /// `loop`: What an `if`, or a branch of it, holds.
  void sink_if(const LoopArgument& loop);
  /// Moves an `if` out of the loop that holds it (loop unswitching).
  /// `loop`: Whose body is an `if`.
  Handles<LoopRV> hoist_if(const LoopArgument& loop);
  /// Moves a statement of a sequence to right before another one of it.
  /// `first`: A block or loop in the statement that moves.
  /// `second`: One in the statement right before which it comes to stand.
  void reorder_statements(const BlockOrLoopArgument& first, const BlockOrLoopArgument& second);
  /// Makes one loop of several of a sequence, by their values: they may start and end elsewhere,
  /// and other statements may be in between. See `shift`. `loops`: Of one sequence of statements.
  LoopRV merge_siblings(const std::vector<LoopArgument>& loops);
  /// Makes one loop of a maximum, and of sums of exp(x - maximum), alone or times something: sums
  /// are rescaled where the maximum changes (online softmax). `loops`: Of one sequence of
  /// statements, in its order: that over the terms of the maximum, then those of values made of it,
  /// and those over the terms of sums.
  LoopRV merge_online(const std::vector<LoopArgument>& loops);
  /// Gives each iteration of a loop elements of its own in an intermediate buffer: what one place
  /// kept apart in time, `distribute` may then run apart. `buffer`: The name of a buffer that is
  /// allocated around the loop, or declared in it, or the buffer. `loop`: Each iteration of which
  /// gets a place of its own.
  void expand_scalar(const BufferSelector& buffer, const LoopArgument& loop);
  /// Puts the values of an integer variable in its place where the loops around tell them: numbers,
  /// induction variables, and what the iteration before counted. `buffer`: The name of a variable
  /// that is allocated around the loop, or in it, or its buffer. `loop`: One of the loops that use
  /// it.
  void substitute_scalar(const BufferSelector& buffer, const LoopArgument& loop);
  /// Stores after a loop what one of its iterations leaves: the last for which a condition holds,
  /// or that of an extreme. The loop becomes a reduction, which may run concurrently. `loop`: Whose
  /// body is one `if` around stores.
  Handles<LoopRV> store_last(const LoopArgument& loop);
  /// Brings a nest with conditions, other starts than 0 and statements outside of blocks into the
  /// form that all primitives take: perfect loops around blocks with predicates. `loop`: The
  /// outermost loop of the nest.
  Handles<BlockRV> normalize_nest(const LoopArgument& loop);
  /// Runs a loop in parallel of which each iteration needs the value of the one before, made by an
  /// associative operation or linear in it: prefix sums, running extremes, recurrences of first
  /// order, segmented by a condition or not, and what a reducer combines, tuples, too. `loop`:
  /// Whose iterations each take over one value from the iteration before. `length`: How many
  /// iterations a part has, rounded up to a multiple of 16; the parts run concurrently. `reducer`:
  /// How the value before is combined, where the loop does not tell: a CommReducer, as a
  /// te.comm_reducer gives it for some types. That it is associative, and its identity neutral, is
  /// your word. None: what the block in the loop declares. `tile`: How many parts are a tile, whose
  /// operands and values go through shared memory, so that neighbouring threads may load and store
  /// neighbours; 0: there are no tiles.
  Handles<LoopRV> parallel_scan(const LoopArgument& loop, std::int64_t length = 4096,
                                const std::optional<Annotation>& reducer = {},
                                std::int64_t tile = 0);
  /// Splits a loop into parts with equal work where inner loops have different numbers of
  /// iterations, which are counted before the loop runs. Parallelize the loop first to have the
  /// parts run concurrently. `loop`: A loop around others whose numbers of iterations differ: rows
  /// of a sparse matrix, say. `parts`: How many parts of equal work. `cut_iterations`: Cuts inside
  /// of iterations, too, where the loop directly inside does nothing but add to the same elements
  /// in all of its iterations, or combine by another operation: one long row is shared by several
  /// parts.
  Handles<LoopRV> inspect_split(const LoopArgument& loop, std::int64_t parts = 64,
                                bool cut_iterations = false);
  /// Moves a block into a loop of its consumers: each iteration computes what it reads.
  /// `preserve_unit_loops`: Whether new loops of one iteration are kept.
  /// `index`: The place in the loop's body: -1 as late as possible, -2 as early as possible, or the
  /// number of the statement before which it goes.
  void compute_at(const BlockArgument& block, const LoopArgument& loop,
                  bool preserve_unit_loops = false, std::int64_t index = -1);
  /// Moves a block into a loop of its producers: each iteration uses what it computes, and a reader
  /// of neighbours what those before did, behind which it lags. `preserve_unit_loops`: Whether new
  /// loops of one iteration are kept. `index`: The place in the loop's body: -1 as late as
  /// possible, -2 as early as possible, or the number of the statement before which it goes.
  void reverse_compute_at(const BlockArgument& block, const LoopArgument& loop,
                          bool preserve_unit_loops = false, std::int64_t index = -1);
  /// Computes what a block stores where it is read, and takes the block away.
  void compute_inline(const BlockArgument& block);
  /// Lets the producer of a block do what the block does, and takes the block away.
  void reverse_compute_inline(const BlockArgument& block);
  /// Lets a reduction start from what its epilogue combines its results with.
  /// `epilogue_block`: It combines each result of the reduction with another value.
  void fuse_reduction_epilogue(const BlockArgument& reduction_block,
                               const BlockArgument& epilogue_block);
  /// Keeps of an intermediate buffer what one iteration needs, and computes nothing twice.
  /// `write_buffer_index`: Which of the buffers that the block writes.
  void rolling_buffer(const BlockArgument& block, std::int64_t write_buffer_index);
  /// Keeps of an intermediate buffer, in each iteration of a loop, a ring of what is still read,
  /// and computes each element of it once. `loop`: Around the block and its consumers: each of its
  /// iterations begins with nothing. `write_buffer_index`: Which of the buffers that the block
  /// writes.
  void store_at(const BlockArgument& block, const LoopArgument& loop,
                std::int64_t write_buffer_index = 0);
  /// Puts the init of a reduction into a block of its own, before a loop.
  /// `loop`: Before which the init goes.
  BlockRV decompose_reduction(const BlockArgument& block, const LoopArgument& loop);
  /// Multiplies or divides a sum by the factor that all of its terms have, in place of each term.
  /// `through_casts`: Takes factors out of conversions to narrower floats, and of sums in float16,
  /// too: you know that what is left fits these.
  BlockRV hoist_factor(const BlockArgument& block, bool through_casts = false);
  /// Makes a loop of a reduction spatial: it computes partial results, which a second block
  /// combines. `loop`: A loop of a reduction. `factor_axis`: Where the loop's dimension goes in the
  /// partial results; from the end if negative.
  BlockRV rfactor(const LoopArgument& loop, std::int64_t factor_axis);
  /// Reduces in levels: splits a loop of a reduction, and gives each of the new loops but the
  /// innermost partial results of its own, which a block of the next level combines. `loop`: A loop
  /// of a reduction. `factors`: How many results each level combines, the last level first; at most
  /// one is to be inferred: None, or -1. `factor_axis`: Where each level's dimension goes in its
  /// partial results; from the end if negative.
  Handles<BlockRV> tree_reduce(const LoopArgument& loop, const std::vector<Factor>& factors,
                               std::int64_t factor_axis = 0);
  /// Gives each iteration of a loop a copy of the buffers that iterations update in common, also
  /// through computed indices, and merges the copies after the loop. `loop`: Each iteration of
  /// which gets a copy of its own. `buffer`: The name of a buffer that the loop updates, or the
  /// buffer. Without it, all those of which several iterations may update one element.
  Handles<BlockRV> privatize(const LoopArgument& loop,
                             const std::optional<BufferSelector>& buffer = {});
  /// Runs the iterations of a loop on several threads, which update the elements that they have in
  /// common atomically, without copies of their own. `loop`: Whose iterations update elements in
  /// common.
  void atomic(const LoopArgument& loop);
  /// Makes the extents of an Einsum's axes multiples of factors, on padded copies of its operands.
  /// `padding`: For each axis, a number of which its new extent is a multiple.
  void pad_einsum(const BlockArgument& block, const std::vector<std::int64_t>& padding);
  /// Makes the extents of a block's spatial axes multiples of factors: beyond its end, an axis
  /// repeats its last index, into elements that no statement reads. `padding`: For each axis, a
  /// number of which its new extent is a multiple; 1 leaves an axis as it is.
  void pad_axes(const BlockArgument& block, const std::vector<std::int64_t>& padding);
  /// Divides a block that pads into one that fills in the constant and one that stores what is in
  /// bounds. `loop`: Before which the constant is filled in.
  BlockRV decompose_padding(const BlockArgument& block, const LoopArgument& loop);
  /// Makes a block that copies what a block reads into another memory, and lets the block read the
  /// copy. `read_buffer_index`: The buffer: its number among the reads of the block, or its name.
  /// `storage_scope`: The memory of the copy: global, shared, local, ...
  /// `consumer_blocks`: The blocks that read the copy; those that read the same values when it is
  /// not given.
  BlockRV cache_read(const BlockArgument& block, const BufferSelector& read_buffer_index,
                     const std::string& storage_scope,
                     const std::optional<std::vector<BlockArgument>>& consumer_blocks = {});
  /// Lets a block write into another memory, and makes a block that copies the result back.
  /// `write_buffer_index`: The buffer: its number among the writes of the block, or its name.
  /// `storage_scope`: The memory that is written instead: global, shared, local, ...
  /// `consumer_blocks`: The blocks that read the cache; all others read the copy.
  BlockRV cache_write(const BlockArgument& block, const BufferSelector& write_buffer_index,
                      const std::string& storage_scope,
                      const std::optional<std::vector<BlockArgument>>& consumer_blocks = {});
  /// Copies what a block updates into another memory, lets the block update the copy, and copies it
  /// back. `read_buffer_index`: The buffer: its number among the reads of the block, or its name.
  /// `storage_scope`: The memory of the copy: global, shared, local, ...
  Handles<BlockRV> cache_inplace(const BlockArgument& block,
                                 const BufferSelector& read_buffer_index,
                                 const std::string& storage_scope);
  /// Makes blocks that compute the indices with which a block reads beforehand, and lets it look
  /// them up. `storage_scope`: The memory of the indices: global, shared, local, ... `cse_thresh`:
  /// How often an expression has to occur; 0: every index that is computed.
  Handles<BlockRV> cache_index(const BlockArgument& block, const std::string& storage_scope,
                               std::int64_t cse_thresh = 0);
  /// Computes the largest expression of a block that reads a buffer and depends on the axes of an
  /// index map alone in a block of its own, beforehand, and lets the block read the values.
  /// `buffer_index`: A buffer that the expression reads: its number among the reads of the block,
  /// or its name. `storage_scope`: The memory of the values: global, shared, local, ...
  /// `index_map`: From the axes of the block to the indices of the values. The axes that it uses
  /// are those that the expression may depend on.
  BlockRV cache_expression(const BlockArgument& block, const BufferSelector& buffer_index,
                           const std::string& storage_scope, const IndexMapArgument& index_map);
  /// Copies a buffer into one that a block accesses by its axes alone.
  /// `buffer`: A name, or ("read", 0) for the first that the block reads.
  BlockRV reindex(const BlockArgument& block, const BufferSelector& buffer);
  /// Copies what a block reads into another memory, where its indices are a map of the block's
  /// axes. `buffer_index`: The buffer: its number among the reads (or writes) of the block, or its
  /// name. `storage_scope`: The memory of the copy: global, shared, local, ... `index_map`: From
  /// the axes of the block to the indices in the copy.
  BlockRV reindex_cache_read(const BlockArgument& block, const BufferSelector& buffer_index,
                             const std::string& storage_scope, const IndexMapArgument& index_map);
  /// Lets a block write into another memory, where its indices are a map of the block's axes, and
  /// copies the result back. `buffer_index`: The buffer: its number among the reads (or writes) of
  /// the block, or its name. `storage_scope`: The memory of the copy: global, shared, local, ...
  /// `index_map`: From the axes of the block to the indices in the copy.
  BlockRV reindex_cache_write(const BlockArgument& block, const BufferSelector& buffer_index,
                              const std::string& storage_scope, const IndexMapArgument& index_map);
  /// Makes one block at a loop that copies what is read there into another memory, and lets the
  /// blocks inside the loop read the copy. `loop`: Around the block; the copy stands in its body.
  /// `read_buffer_index`: The buffer: its number among the reads of the block, or its name.
  /// `storage_scope`: The memory of the copy: global, shared, local, ...
  BlockRV read_at(const LoopArgument& loop, const BlockArgument& block,
                  const BufferSelector& read_buffer_index, const std::string& storage_scope);
  /// Lets the blocks inside a loop write into another memory, and makes one block at the loop that
  /// copies the result back. `loop`: Around the block; the copy stands in its body.
  /// `write_buffer_index`: The buffer: its number among the writes of the block, or its name.
  /// `storage_scope`: The memory that is written instead: global, shared, local, ...
  BlockRV write_at(const LoopArgument& loop, const BlockArgument& block,
                   const BufferSelector& write_buffer_index, const std::string& storage_scope);
  /// Asks in each iteration of a loop for what a block reads some iterations later. Steps that give
  /// the buffer another layout or scope follow; where the buffer is inlined, the prefetch goes with
  /// it. `read_buffer_index`: The buffer: its number among the reads of the block, or its name.
  /// `loop`: A loop around the block.
  /// `offset`: How many iterations of the loop ahead.
  void prefetch(const BlockArgument& block, const BufferSelector& read_buffer_index,
                const LoopArgument& loop, std::int64_t offset = 1);
  /// Lets the stride of a dimension be `offset` modulo `factor`, to spread it over banks.
  /// `buffer_index`: The buffer: its number among the writes of the block, or its name.
  /// `axis`: The dimension; -1 is the last.
  /// `factor`: In elements.
  /// `offset`: In elements.
  void storage_align(const BlockArgument& block, const BufferSelector& buffer_index,
                     std::int64_t axis, std::int64_t factor, std::int64_t offset);
  /// Puts an intermediate buffer into another memory.
  /// `buffer_index`: The buffer: its number among the writes of the block, or its name.
  /// `storage_scope`: The memory: global, shared, local, ...
  void set_scope(const BlockArgument& block, const BufferSelector& buffer_index,
                 const std::string& storage_scope);
  /// Keeps the elements of an intermediate buffer as another type, which may round them.
  /// `buffer_index`: The buffer: its number among the writes of the block, or its name.
  /// `dtype`: As which type its elements are kept.
  void unsafe_set_dtype(const BlockArgument& block, const BufferSelector& buffer_index,
                        const std::string& dtype);
  /// Says which dimensions of a buffer start a new physical axis.
  /// `buffer`: The buffer: its number among the writes of the block, or its name.
  /// `axis_separators`: The dimensions that start a new physical axis, in order.
  void set_axis_separator(const BlockArgument& block, const BufferSelector& buffer,
                          const std::vector<std::int64_t>& axis_separators);
  /// Takes buffers from what a block declares; later steps do not see these accesses.
  /// `buf_type`: read or write
  /// `buf_index_array`: The numbers of the buffers among the reads or writes of the block.
  void unsafe_hide_buffer_access(const BlockArgument& block, const std::string& buf_type,
                                 const std::vector<std::int64_t>& buf_index_array);
  /// Declares another region for a buffer of a block.
  /// `buffer_index`: The number of the buffer among the reads or writes of the block.
  /// `buf_type`: read or write
  /// `gen_new_ranges`: From the axes of the block to where each dimension starts and ends, in turn.
  void annotate_buffer_access(const BlockArgument& block, std::int64_t buffer_index,
                              const std::string& buf_type, const IndexMapArgument& gen_new_ranges);
  /// Keeps the elements of a buffer elsewhere: where an index map says.
  /// `buffer`: The buffer: a name, ("read", 0), or its number among the writes of the block.
  /// `index_map`: From the old indices of an element to its new ones.
  /// `pad_value`: What new elements hold that were none before: a number, or an IndexMap from the
  /// new indices to a value. `assume_injective_transform`: Whether you know that no two elements
  /// come to lie in one.
  void transform_layout(const BlockArgument& block, const BufferSelector& buffer,
                        const IndexMapArgument& index_map,
                        const std::optional<Annotation>& pad_value = {},
                        bool assume_injective_transform = false);
  /// Keeps the elements of any buffer elsewhere in memory: transposed, tiled, padded, swizzled, as
  /// an index map says. The order of computation stays as it is. `buffer`: The name of a buffer of
  /// the function, or the buffer. `map`: From the old indices of an element to its new ones. `pad`:
  /// What new elements hold that were none before: a number, or an IndexMap from the new indices to
  /// a value.
  void set_layout(const BufferSelector& buffer, const IndexMapArgument& map,
                  const std::optional<Annotation>& pad = {});
  /// Makes a block of a loop and what is inside, or of blocks that follow each other.
  /// `target`: A loop with one block inside, or blocks that follow each other.
  /// `preserve_unit_iters`: Keeps axes that have one value.
  BlockRV blockize(const LoopOrBlocksArgument& target, bool preserve_unit_iters = true);
  /// Puts the implementation of a tensor intrinsic in the place of what it describes.
  /// `block_or_loop`: A block of loops around a block, or a loop, which is blockized first.
  /// `tensor_intrin`: The name of the tensor intrinsic.
  /// `preserve_unit_iters`: Keeps axes that have one value, where a loop is blockized.
  void tensorize(const BlockOrLoopArgument& block_or_loop, const IntrinArgument& tensor_intrin,
                 bool preserve_unit_iters = true);
  /// Gives a block other axes, and loops for them.
  /// `index_map`: From the axes of the block to its new ones.
  void transform_block_layout(const BlockArgument& block, const IndexMapArgument& index_map);
  /// Puts a note on a block or a loop; one that is there already stays.
  /// `ann_val`: A text, a number, or lists and dicts of them.
  void annotate(const BlockOrLoopArgument& block_or_loop, const std::string& ann_key,
                const Annotation& ann_val);
  /// Takes a note from a block or a loop.
  void unannotate(const BlockOrLoopArgument& block_or_loop, const std::string& ann_key);
  /// Takes the caller's word that functions of the host read what the blocks that call them declare
  /// to read, write all that these declare to write, by values that follow from that, and do
  /// nothing else. `names`: Of functions that blocks call by `call_extern` or `call_packed`.
  void trust_calls(const std::vector<std::string>& names);
  /// Lists the axes of a block in another order.
  /// `new_order`: For each place, the place where its axis has been.
  void reorder_block_iter_var(const BlockArgument& block,
                              const std::vector<std::int64_t>& new_order);
  /// Chooses one of several numbers by their weights.
  /// `probs`: The weight of each candidate.
  /// `decision`: Which one to take, by its place; None: draw one.
  ExprRV sample_categorical(const std::vector<std::int64_t>& candidates,
                            const std::vector<double>& probs,
                            const std::optional<std::int64_t>& decision = {});
  /// Chooses factors whose product is the extent of a loop.
  /// `n`: How many factors.
  /// `max_innermost_factor`: The largest last factor; -1: any.
  /// `decision`: The factors; those that do not divide the extent are replaced by divisors.
  Handles<ExprRV> sample_perfect_tile(
      const LoopArgument& loop, std::int64_t n, std::int64_t max_innermost_factor = 16,
      const std::optional<std::vector<std::int64_t>>& decision = {});
  /// Chooses factors of a loop of which the inner ones make a multiple of a number.
  /// `n`: How many factors.
  /// `partition_pos`: Where the inner part starts.
  /// `innerpart_factor`: What the product of the inner part is a multiple of.
  /// `decision`: The factors; those that do not divide the extent are replaced by divisors.
  Handles<ExprRV> sample_partitioned_tile(
      const LoopArgument& loop, std::int64_t n, std::int64_t partition_pos = 0,
      std::int64_t innerpart_factor = 1,
      const std::optional<std::vector<std::int64_t>>& decision = {});
  /// Chooses a place at which a block may be computed, each with the same chance.
  /// `decision`: -2: inlined; -1: where it is; else the number of a loop around its first consumer.
  /// One that is not possible stands for the largest one below.
  LoopRV sample_compute_location(const BlockArgument& block,
                                 const std::optional<std::int64_t>& decision = {});
  /// Makes a number of two others, which follows them when other ones are chosen.
  ExprRV calculate(const std::string& operation, const std::optional<Factor>& a = {},
                   const std::optional<Factor>& b = {});
  /// Marks where a trace ends that is to be searched; what follows only finishes it.
  void enter_postproc();
  /// Marks where the steps of a user's own primitive begin.
  /// `name`: Of the primitive.
  /// `arguments`: What it was called with, for people to read.
  void begin_macro(const std::string& name, const std::string& arguments = {});
  /// Marks where the steps of a user's own primitive end.
  void end_macro();

 protected:
  ScheduleMethods() = default;
  ~ScheduleMethods() = default;

  /// Calls a primitive; an argument that is None is the parameter's default.
  virtual Argument call(std::string_view primitive, std::vector<Argument> arguments) = 0;
};

}  // namespace loopsmith::tir
