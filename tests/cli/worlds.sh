# How many GPUs a launch takes that does not count them: all of a host, whose number the
# cluster, or the machine of --gpu, says.
S=${STEPCAST:?}
dir=$(mktemp -d)
tmp=$dir/said && mkdir "$tmp"
trap 'rm -rf "$dir"' EXIT
. tests/tools/same_step
. tests/tools/expect

trainer="train.py --model_name_or_path meta-llama/Llama-3.2-1B --max_seq_length 2048 --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --bf16"
tuned="--model llama3.2-1b --seq 2048 --micro-batch 1 --micro-batches 2 --update amp --software hf-transformers"
deep="--model llama3.2-1b --seq 2048 --micro-batch 1 --micro-batches 2 --bf16 --zero 2 --software deepspeed"
launch() { echo "$*" >"$dir/launch.sh"; }

# ---- who takes all of a host ----
launch deepspeed $trainer --deepspeed ds_zero2.json
same deepspeed "$dir/launch.sh" -- $deep --gpus 8
launch deepspeed --num_nodes 2 $trainer --deepspeed ds_zero2.json
same deepspeed_nodes "$dir/launch.sh" -- $deep --gpus 16
launch deepspeed --num_gpus 4 $trainer --deepspeed ds_zero2.json
same deepspeed_counts "$dir/launch.sh" -- $deep --gpus 4
launch accelerate launch $trainer
same accelerate "$dir/launch.sh" -- $tuned --gpus 8
launch accelerate launch --num_processes 2 $trainer
same accelerate_counts "$dir/launch.sh" -- $tuned --gpus 2
for word in gpu auto '$(nvidia-smi -L | wc -l)'; do
    launch "torchrun --nproc-per-node=$word $trainer"
    same "torchrun: $word" "$dir/launch.sh" -- $tuned --gpus 8
done
launch torchrun --nproc_per_node gpu --nnodes 2 $trainer
same torchrun_nodes "$dir/launch.sh" -- $tuned --gpus 16
launch torchrun --nproc_per_node 4 --nnodes 1:2 $trainer
same torchrun_range "$dir/launch.sh" -- $tuned --gpus 8
launch srun --nodes 2 --ntasks-per-node 1 torchrun --nproc_per_node gpu --nnodes 2 $trainer
same torchrun_of_srun "$dir/launch.sh" -- $tuned --gpus 16
launch torchrun $trainer
same torchrun_alone "$dir/launch.sh" -- $tuned --gpus 1
launch python $trainer --optimizer deepspeed
same python_alone "$dir/launch.sh" -- $tuned --gpus 1
printf '#SBATCH --nodes=3\nsrun torchrun --nproc_per_node gpu %s\n' "$trainer" >"$dir/slurm.sh"
same slurm_nodes "$dir/slurm.sh" -- $tuned --gpus 24

printf '#SBATCH --gres=gpu:4\nsrun deepspeed --hostfile hosts --num_nodes 1 %s --deepspeed ds_zero2.json\n' "$trainer" >"$dir/slurm.sh"
same slurm_one_node "$dir/slurm.sh" -- $deep --gpus 4
launch deepspeed --hostfile hosts --num_nodes 2 $trainer --deepspeed ds_zero2.json
same deepspeed_hosts_counted "$dir/launch.sh" -- $deep --gpus 16

# letters of what runs a command in turn are not the launcher's
launch nice -n 10 accelerate launch $trainer
same nice_launcher "$dir/launch.sh" -- $tuned --gpus 8
launch nice -5 srun -N 4 --ntasks-per-node=8 /usr/bin/numactl -N 1 -m 1 nice -n 3 python $trainer
same wrapped_program "$dir/launch.sh" -- $tuned --gpus 32
launch numactl -N all -l srun -n 16 python $trainer
same wrapped_launcher "$dir/launch.sh" -- $tuned --gpus 16

# of the devices that are visible those alone: to PyTorch, which torchrun asks, and to what calls accelerate
for seen in 0,1 GPU-8f4a,MIG-07bc; do
    launch CUDA_VISIBLE_DEVICES=$seen torchrun --nproc_per_node=gpu $trainer
    same "torchrun_sees $seen" "$dir/launch.sh" -- $tuned --gpus 2
done
launch CUDA_VISIBLE_DEVICES=0,1,2 torchrun --nproc_per_node=auto --nnodes 2 $trainer
same torchrun_sees_of_each "$dir/launch.sh" -- $tuned --gpus 6
for launcher in trl composer; do
    launch CUDA_VISIBLE_DEVICES=0,1,2,3 $launcher $trainer
    same "${launcher}_sees" "$dir/launch.sh" -- $tuned --gpus 4
done
launch composer --nproc 4 $trainer
same composer_counts "$dir/launch.sh" -- $tuned --gpus 4
launch composer --nproc 4 --world_size 16 $trainer
same composer_counts_all "$dir/launch.sh" -- $tuned --gpus 16
launch deepspeed -i localhost:0,1 $trainer --deepspeed ds_zero2.json
same deepspeed_picks "$dir/launch.sh" -- $deep --gpus 2
for hosts in "-H" "--hostfile"; do
    launch deepspeed $hosts hosts $trainer --deepspeed ds_zero2.json
    same "deepspeed_hosts $hosts" "$dir/launch.sh" -- $deep --gpus 1
done
launch accelerate launch --config_file fsdp.yaml $trainer
"$S" run "$dir/launch.sh" >"$dir/out" 2>&1
tr '\n' ' ' <"$dir/out" | tr -s ' ' >"$dir/notes"
expect accelerate_file_missing 0 'launches what fsdp.yaml says, which is not known: all GPUs of 1 host:' cat "$dir/notes"

# TRL's own files of accelerate by their names, and others by path
for pair in "zero2=--bf16 --zero 2 --software deepspeed" "fsdp2=--use-torch-fsdp2 --software fsdp-eager"; do
    launch trl sft --accelerate_config ${pair%%=*} ${trainer#train.py}
    same "trl_${pair%%=*}" "$dir/launch.sh" -- --model llama3.2-1b --seq 2048 --micro-batch 1 --micro-batches 2 --gpus 8 ${pair#*=}
done
launch trl sft --accelerate_config single_gpu ${trainer#train.py}
same trl_single "$dir/launch.sh" -- $tuned --gpus 1
launch trl sft --accelerate_config my/zero2.yaml --num_processes 4 ${trainer#train.py}
same trl_path "$dir/launch.sh" -- $deep --gpus 4
# ---- jobs of SLURM whose tasks train, and of AI2 ----
whole="--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --micro-batch-size 1 --global-batch-size 96 --vocab-size 32000 --bf16"
plain="pretrain_gpt.py $whole"
launch python $plain
job() { printf '#SBATCH %s\n' "$1" >"$dir/job.sh" && shift && echo "$*" >>"$dir/job.sh"; }
job '--nodes=2 --ntasks-per-node=4' srun bash -c "'RANK=\$SLURM_PROCID python $plain'"
same tasks_of_a_job "$dir/job.sh" -- --megatron-args "$dir/launch.sh" --gpus 8
job '--ntasks=6' srun python $plain
same tasks_of_any_nodes "$dir/job.sh" -- --megatron-args "$dir/launch.sh" --gpus 6
job '--ntasks-per-node=4' srun python $plain
same tasks_of_one_node "$dir/job.sh" -- --megatron-args "$dir/launch.sh" --gpus 4
job '-N2 --gpus-per-node=4' srun python $plain -n 3
same letters_of_a_job "$dir/job.sh" -- --megatron-args "$dir/launch.sh" --gpus 8
launch srun -N2 -n12 python $plain -n 5
same letters_of_srun "$dir/launch.sh" -- --megatron-args "$dir/launch.sh" --gpus 12
launch python $plain
pbs() { printf '#PBS %s\nNODES=$(wc -l <$PBS_NODEFILE)\nmpiexec -n $((NODES * 4)) python %s\n' "$1" "$plain" >"$dir/pbs.sh"; }
pbs '-l select=6:ncpus=64:ngpus=4,walltime=1:00:00'
same gpus_of_pbs "$dir/pbs.sh" -- --megatron-args "$dir/launch.sh" --gpus 24
pbs '-l select=1:ngpus=4+2:ngpus=8'
same gpus_of_two_kinds "$dir/pbs.sh" -- --megatron-args "$dir/launch.sh" --gpus 1
job '--gpus=h100:16' srun python $plain
same gpus_of_a_job "$dir/job.sh" -- --megatron-args "$dir/launch.sh" --gpus 16
job '--nodes=2 --ntasks-per-node=4' torchrun $plain
same tasks_of_a_launcher "$dir/job.sh" -- --megatron-args "$dir/launch.sh" --gpus 1
mason="python mason.py --cluster x --gpus 8"
launch $mason --num_nodes 8 -- accelerate launch --num_processes 8 $trainer
same mason "$dir/launch.sh" -- $tuned --gpus 64
launch $mason -- accelerate launch --num_processes 8 $trainer
same mason_of_one_node "$dir/launch.sh" -- $tuned --gpus 8
launch accelerate launch --num_machines 8 --num_processes 8 $trainer
same processes_of_all "$dir/launch.sh" -- $tuned --gpus 8

# ---- how many those are ----
launch torchrun --nproc_per_node gpu $trainer
same of_the_cluster "$dir/launch.sh" --cluster dgx-2 -- $tuned --gpus 16 --cluster dgx-2
same of_a_sized_cluster "$dir/launch.sh" --cluster dgx-h100:32 -- $tuned --cluster dgx-h100:32
same of_a_tray "$dir/launch.sh" --gpu gb200 -- $tuned --gpu gb200 --gpus 4
same of_a_card "$dir/launch.sh" --gpu a100-80 -- $tuned --gpu a100-80 --gpus 8
same gpus_say_more "$dir/launch.sh" --gpus 2 -- $tuned --gpus 2
same of_other_cards "$dir/launch.sh" --gpu a10g -- $tuned --gpu a10g --gpus 8
same of_a_cluster_of_cards "$dir/launch.sh" --cluster rtx-3090 -- $tuned --cluster rtx-3090 --gpus 8
same nodes_say_more "$dir/launch.sh" --nodes 2 -- $tuned --gpus 16
same copies_say_more "$dir/launch.sh" --dp 4 -- $tuned --dp 4
same no_host_is_known "$dir/launch.sh" --cluster ideal -- $tuned --cluster ideal
"$S" run "$dir/launch.sh" --cluster ideal >"$dir/out" 2>&1
tr '\n' ' ' <"$dir/out" | tr -s ' ' >"$dir/notes"
expect no_host_is_said 0 'the cluster has no hosts: as few GPUs are taken as the plan needs, 1 (--gpus says otherwise)' cat "$dir/notes"
"$S" run "$dir/launch.sh" >"$dir/out" 2>&1
tr '\n' ' ' <"$dir/out" | tr -s ' ' >"$dir/notes"
expect said 0 'launches on all GPUs of 1 host: those of the cluster, or as many as its hosts have, are taken (--gpus says otherwise)' cat "$dir/notes"
launch torchrun --nproc_per_node gpu pretrain_gpt.py $whole --tensor-model-parallel-size 3 --num-query-groups 16 --num-attention-heads 48 --kv-channels 64 --group-query-attention --make-vocab-size-divisible-by 1 --num-query-groups 48
"$S" run "$dir/launch.sh" --ffn-hidden-size 3072 >"$dir/out" 2>&1
tr '\n' ' ' <"$dir/out" | tr -s ' ' >"$dir/notes"
expect plan_needs_more 0 '1 host of 8 GPUs, but the plan needs a multiple of 3: 9 are taken' cat "$dir/notes"

# an option that counts for nothing is noted
idle() { name=$1 said=$2; shift 2; expect "idle_$name" 0 "--hosts has no effect: $said" "$S" run $tuned --hosts 2 "$@"; }
idle gpus "--gpus says how many" --gpus 4
idle nodes "--nodes says how many" --nodes 1
idle dp "--dp says how many" --dp 4
idle cluster "the cluster says how many" --cluster dgx-h100:32
idle ideal "the cluster has none" --cluster ideal

# ---- plans, and Python ----
launch torchrun --nproc_per_node gpu pretrain_gpt.py $whole
expect plans 0 '8 GPUs' "$S" plans --megatron-args "$dir/launch.sh" --gpu a100-80
expect plans_of_a_tray 0 '4 GPUs' "$S" plans --megatron-args "$dir/launch.sh" --gpu gb200

# ---- other places that say it ----
cat >"$dir/factory.yaml" <<'Y'
model_name_or_path: meta-llama/Llama-3.2-1B
finetuning_type: full
deepspeed: ds_z2_config.json
cutoff_len: 2048
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
disable_gradient_checkpointing: true
bf16: true
Y
launch NNODES=2 FORCE_TORCHRUN=1 llamafactory-cli train factory.yaml
same factory_nodes "$dir/launch.sh" -- $deep --gpus 16
launch llamafactory-cli train factory.yaml
same factory_alone "$dir/launch.sh" -- $deep --gpus 8
max="python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-8b per_device_batch_size=1 max_target_length=2048 remat_policy=full"
launch $max ici_fsdp_parallelism=8 dcn_data_parallelism=2
same mesh "$dir/launch.sh" -- --model llama3.1-8b --seq 2048 --micro-batch 1 --recompute full --zero 3 --gpus 16 --shard-group 8 --software maxtext
launch $max ici_fsdp_parallelism=-1 dcn_data_parallelism=1
same mesh_open "$dir/launch.sh" --gpus 16 -- --model llama3.1-8b --seq 2048 --micro-batch 1 --recompute full --zero 3 --gpus 16 --software maxtext
# one that leaves the copies across nodes open has the GPUs of a node at least
for copies in "" dcn_data_parallelism=-1; do
    launch $max ici_fsdp_parallelism=4 ici_tensor_parallelism=2 $copies
    same "mesh_of_a_node $copies" "$dir/launch.sh" -- --model llama3.1-8b --seq 2048 --micro-batch 2 --recompute full --zero 3 --tp 2 --gpus 8 --software maxtext
done
