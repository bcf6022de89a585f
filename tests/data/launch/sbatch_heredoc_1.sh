#!/bin/bash
TP=${TP:-4}
PRETRAIN_ARGS=(
    --tensor-model-parallel-size ${TP}
    --moe-layer-freq [0]*3+[1]*58
    --bf16
)
if [ "${USE_FSDP:-1}" = 1 ]; then
    unset CUDA_DEVICE_MAX_CONNECTIONS
    PRETRAIN_ARGS=(
        "${PRETRAIN_ARGS[@]}"
        --use-megatron-fsdp
    )
fi
TRAINING_CMD="
cd /opt;
python pretrain_gpt.py ${PRETRAIN_ARGS[@]}"
sbatch <<EOF
#!/bin/bash

#SBATCH --job-name=x
#SBATCH --nodes=1

srun \
    --mpi=pmix -l \
    bash -x -c "${TRAINING_CMD}" 2>&1 | tee /tmp/\${SLURM_JOB_ID}.log

EOF
