"""Baseline methods from the RMGL paper."""

from rmgl.baselines.gd_mcca import GDMCCA
from rmgl.baselines.gl_sigrep import GLSigRep, SigRepLayer, learn_gl_sigrep
from rmgl.baselines.sc_ged import SCGED
from rmgl.baselines.sc_ml import SCML

__all__ = ["GDMCCA", "SCGED", "SCML", "GLSigRep", "SigRepLayer", "learn_gl_sigrep"]
